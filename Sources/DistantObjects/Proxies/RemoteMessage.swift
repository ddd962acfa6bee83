import KeyedArchive

/// A message to a distant object that has a name and waits for its arguments.
///
/// `directory.add(foo)` waits for the answer; `.oneWay` does not ask for one; `.blocking` is for plain threads.
public struct RemoteMessage: Sendable {
    let place: MessagePlace
    let name: String

    /// Sends the message and waits for its result.
    ///
    /// - Returns: A copy of the result, or a `DistantObject` where the method gave an object by reference.
    /// - Throws: The error the method threw, if its type is known here (`Connection.Configuration.errorTypes`), else
    ///   `RemoteError`; `ConnectionError`; `CancellationError` at once when the task is cancelled (the other process is told).
    @discardableResult
    @inlinable
    public func callAsFunction<each Argument: Codable, Result: Codable>(
        _ argument: repeat each Argument
    ) async throws -> Result {
        try await result(of: encoded(repeat each argument, deadline: nil))
    }

    /// Sends the message and waits until its method has returned.
    @inlinable
    public func callAsFunction<each Argument: Codable>(_ argument: repeat each Argument) async throws {
        try await completion(of: encoded(repeat each argument, deadline: nil))
    }

    /// Sends the message and waits for its result no longer than the deadline; `nil`: than the connection's, if it has one.
    ///
    /// - Throws: `ConnectionError.deadlineExceeded` when the time is over; the other process is told to stop.
    @discardableResult
    @inlinable
    public func call<each Argument: Codable, Result: Codable>(
        _ argument: repeat each Argument, deadline: Duration?
    ) async throws -> Result {
        try await result(of: encoded(repeat each argument, deadline: deadline))
    }

    /// Sends the message and waits until its method has returned, no longer than the deadline.
    @inlinable
    public func call<each Argument: Codable>(_ argument: repeat each Argument, deadline: Duration?) async throws {
        try await completion(of: encoded(repeat each argument, deadline: deadline))
    }

    /// Sends the message and waits for nothing but room: so many one-way messages may be under way, from here until their
    /// methods have ended in the other process, as calls may run there.
    ///
    /// What the method throws reaches the receiver's event hook, and the sender's as `ConnectionEvent.oneWayFailed`; its
    /// result is not encoded. As nobody waits for it, it is not cancelled when the connection ends.
    ///
    /// A method that serves a one-way message never waits for room on the connection that message came from: both sides
    /// could wait for each other. Tasks it starts with `Task { }` do wait; a method that awaits one should give a deadline.
    /// - Throws: `ConnectionError.oneWayLost` if messages sent before did not run: it is thrown once, this one is not sent;
    ///   `.overloaded` where it may not wait; `CancellationError`. What throws was not sent.
    @inlinable
    public func oneWay<each Argument: Codable>(_ argument: repeat each Argument) async throws {
        try await sendOneWay(encoded(repeat each argument, deadline: nil), within: nil)
    }

    /// As `oneWay`, and waits for room no longer than the deadline.
    ///
    /// - Throws: As `oneWay`; `ConnectionError.deadlineExceeded` if there was no room; then the message was not sent.
    @inlinable
    public func oneWay<each Argument: Codable>(
        _ argument: repeat each Argument, deadline: Duration?
    ) async throws {
        try await sendOneWay(encoded(repeat each argument, deadline: nil), within: deadline)
    }

    /// Sends the message as `oneWay` does if there is room now, from any thread, without waiting.
    ///
    /// - Returns: Whether it was sent.
    /// - Throws: As `oneWay`; `ConnectionError.wouldBlock` for an object of this process.
    @inlinable
    public func offer<each Argument: Codable>(_ argument: repeat each Argument) throws -> Bool {
        try offer(encoded(repeat each argument, deadline: nil), tellsLosses: true)
    }

    /// Sends the message from a plain thread and blocks it until the result is there.
    ///
    /// The thread reads the connection itself while it waits; calls that come in meanwhile run on the loop's thread.
    ///
    /// - Throws: As the async call; `ConnectionError.wouldBlock` on the loop's threads and in tasks.
    @discardableResult
    @inlinable
    public func blocking<each Argument: Codable, Result: Codable>(
        _ argument: repeat each Argument, deadline: Duration? = nil
    ) throws -> Result {
        try blockingResult(of: encoded(repeat each argument, deadline: deadline))
    }

    /// Sends the message from a plain thread and blocks it until the method has returned.
    @inlinable
    public func blocking<each Argument: Codable>(
        _ argument: repeat each Argument, deadline: Duration? = nil
    ) throws {
        try blockingCompletion(of: encoded(repeat each argument, deadline: deadline))
    }

    /// Sends the message from a plain thread and blocks it only until there is room, no longer than the deadline.
    ///
    /// - Throws: As `oneWay`; `ConnectionError.wouldBlock` on the loop's threads and in tasks.
    @inlinable
    public func blockingOneWay<each Argument: Codable>(
        _ argument: repeat each Argument, deadline: Duration? = nil
    ) throws {
        try sendOneWayBlocking(encoded(repeat each argument, deadline: nil), within: deadline)
    }

    // MARK: Arguments

    /// Encodes the arguments: a function of the caller's module, where their types are known.
    @inlinable
    @inline(__always)
    func encoded<each Argument: Codable>(
        _ argument: repeat each Argument, deadline: Duration?
    ) throws -> OutboundMessage {
        // On an error the message is dropped: it is not what happens often.
        let message = begun(deadline: deadline)
        do {
            repeat try message.encode(each argument)
        } catch {
            throw unsent(error, in: message)
        }
        return message
    }

    @usableFromInline
    func begun(deadline: Duration?) -> OutboundMessage {
        let message = place.takeMessage()
        if let deadline {
            message.deadline = place.heldConnection.map { Deadline(after: deadline, at: $0.now) }
        }
        message.name = name
        return message
    }

    @usableFromInline
    func unsent(_ error: any Error, in message: OutboundMessage) -> ConnectionError {
        ConnectionError.unsent(error, name, position: message.argumentCount + 1)
    }

    /// An error of the connection's end says which message it is about.
    private func named(_ error: any Error) -> any Error {
        guard let error = error as? ConnectionError else { return error }
        switch error.code {
        case .notSent, .notDelivered, .outcomeUnknown: return error.about(name)
        default: return error
        }
    }

    @inline(__always)
    private func finished(_ message: consuming OutboundMessage) throws -> OutboundMessage {
        do { try message.finish() } catch { throw ConnectionError.unsent(error, name, position: nil) }
        return message
    }

    /// Gives a call that has no deadline the connection's, if that has one.
    @inline(__always)
    private func bound(_ message: OutboundMessage, _ connection: Connection) {
        guard let limit = connection.configuration.callDeadline, message.deadline == nil else { return }
        message.deadline = Deadline(after: limit, at: connection.now)
    }

    // MARK: Sending

    @usableFromInline
    func result<Result: Codable>(of message: consuming OutboundMessage) async throws -> Result {
        let message = try finished(message)
        guard let connection = place.connection else {
            return try await LocalCall.result(of: message, at: place.object)
        }
        defer { withExtendedLifetime(place) {} }
        connection._withUnsafeGuaranteedRef { bound(message, $0) }
        let reply: Reply
        do { reply = try await Connection.send(message, over: connection) } catch { throw named(error) }
        return try connection._withUnsafeGuaranteedRef { try $0.coder.result(of: reply, from: name) }
    }

    @usableFromInline
    func completion(of message: consuming OutboundMessage) async throws {
        let message = try finished(message)
        guard let connection = place.connection else { return try await LocalCall.run(message, at: place.object) }
        defer { withExtendedLifetime(place) {} }
        connection._withUnsafeGuaranteedRef { bound(message, $0) }
        let reply: Reply
        do { reply = try await Connection.send(message, over: connection) } catch { throw named(error) }
        try connection._withUnsafeGuaranteedRef { try $0.coder.completion(of: reply, from: name) }
    }

    @usableFromInline
    func sendOneWay(_ message: consuming OutboundMessage, within limit: Duration?) async throws {
        let message = try finished(message)
        guard let connection = place.heldConnection else {
            return try await LocalCall.runOneWay(message, at: place.object)
        }
        do { try await connection.sendOneWay(message, within: limit) } catch { throw named(error) }
    }

    /// - Parameter tellsLosses: Throws if messages sent before are lost.
    @usableFromInline
    func offer(_ message: consuming OutboundMessage, tellsLosses: Bool) throws -> Bool {
        let message = try finished(message)
        guard let connection = place.heldConnection else { throw LocalCall.cannotBlock(name) }
        if try connection.offerOneWay(message, tellsLosses: tellsLosses) { return true }
        connection.coder.recycle(message)
        return false
    }

    @usableFromInline
    func blockingResult<Result: Codable>(of message: consuming OutboundMessage) throws -> Result {
        let message = try finished(message)
        guard let connection = place.heldConnection else { throw LocalCall.cannotBlock(name) }
        bound(message, connection)
        let reply: Reply
        do { reply = try connection.sendBlocking(message) } catch { throw named(error) }
        return try connection.coder.result(of: reply, from: name)
    }

    @usableFromInline
    func blockingCompletion(of message: consuming OutboundMessage) throws {
        let message = try finished(message)
        guard let connection = place.heldConnection else { throw LocalCall.cannotBlock(name) }
        bound(message, connection)
        let reply: Reply
        do { reply = try connection.sendBlocking(message) } catch { throw named(error) }
        try connection.coder.completion(of: reply, from: name)
    }

    @usableFromInline
    func sendOneWayBlocking(_ message: consuming OutboundMessage, within limit: Duration?) throws {
        let message = try finished(message)
        guard let connection = place.heldConnection else { throw LocalCall.cannotBlock(name) }
        do { try connection.sendOneWayBlocking(message, within: limit) } catch { throw named(error) }
    }
}
