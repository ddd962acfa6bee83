import KeyedArchive

/// A named message to a distant object.
///
/// Call it with the arguments to send it.
///
/// `directory.add(foo)` waits for the answer, `.oneWay` asks for none, and `.blocking` waits in a thread that runs no task.
public struct RemoteMessage: Sendable {
    @usableFromInline let place: MessagePlace
    let name: String

    /// The same message to an object that the place stands for now.
    @usableFromInline
    func at(_ place: MessagePlace) -> RemoteMessage { RemoteMessage(place: place, name: name) }

    /// Sends the message and waits for its result, without blocking a thread: what a task wants.
    ///
    /// - Parameters:
    ///   - argument: The arguments, in the order of the method's parameters.
    ///   - timeout: How long to wait for the result; `nil` for the connection's `callTimeout`, if it has one.
    /// - Returns: A copy of the result, or a `DistantObject` if the method returned an object by reference.
    /// - Throws: The error that the method threw if its type is listed in `Connection.Configuration.errorTypes`, else a
    ///   `RemoteError`; `ConnectionError`, with `.deadlineExceeded` when the time is over, which also cancels the method;
    ///   `CancellationError` as soon as the task is cancelled, which also cancels the method.
    @discardableResult
    @inlinable
    public func callAsFunction<each Argument: Codable, Result: Codable>(
        _ argument: repeat each Argument, timeout: Duration? = nil
    ) async throws -> Result {
        if place.follows {
            return try await place.following(timeout ?? place.followedTimeout) {
                try await at($0).callAsFunction(repeat each argument, timeout: $1)
            }
        }
        return try await result(of: encoded(repeat each argument, timeout: timeout))
    }

    /// Sends the message and waits until its method has returned, without blocking a thread: what a task wants.
    ///
    /// - Parameters:
    ///   - argument: The arguments, in the order of the method's parameters.
    ///   - timeout: How long to wait; `nil` for the connection's `callTimeout`, if it has one.
    /// - Throws: As the call with a result.
    @inlinable
    public func callAsFunction<each Argument: Codable>(
        _ argument: repeat each Argument, timeout: Duration? = nil
    ) async throws {
        if place.follows {
            return try await place.following(timeout ?? place.followedTimeout) {
                try await at($0).callAsFunction(repeat each argument, timeout: $1)
            }
        }
        try await completion(of: encoded(repeat each argument, timeout: timeout))
    }

    /// Sends the message without asking for an answer: for news that nobody answers.
    ///
    /// Waits only while too many one-way messages are under way, and inside a method no longer than the deadline of the call
    /// that it serves.
    ///
    /// A one-way message is under way until its method has ended in the other process. The limit is the number of calls that
    /// may run there at a time.
    ///
    /// An error that the method throws goes to the event handlers: to the receiver's, and to the sender's as
    /// `ConnectionEvent.Code.oneWayFailed`. The result is not encoded. The method is not cancelled when the connection ends.
    ///
    /// Inside a method that serves a one-way message, this never waits on the connection that the message came from: otherwise
    /// both sides could wait for each other. A task that the method starts with `Task { }` does wait; if the method awaits such
    /// a task, give the task's messages a time-out.
    ///
    /// - Parameters:
    ///   - argument: The arguments, in the order of the method's parameters.
    ///   - timeout: How long to wait while too many one-way messages are under way; `nil` for no limit.
    /// - Throws: `ConnectionError.oneWayLost`, once, if messages sent earlier did not run; `.overloaded` if the limit is reached
    ///   and this must not wait; `.deadlineExceeded` when the time is over, or the deadline of the call that is served has passed;
    ///   `CancellationError`. If it throws, the message was not sent.
    @inlinable
    public func oneWay<each Argument: Codable>(
        _ argument: repeat each Argument, timeout: Duration? = nil
    ) async throws {
        if place.follows {
            return try await place.following(timeout) {
                try await at($0).oneWay(repeat each argument, timeout: $1)
            }
        }
        try await sendOneWay(encoded(repeat each argument, timeout: nil), within: timeout)
    }

    /// Sends the message as `oneWay` does if there is room now: for code that must not wait, and can drop the message.
    ///
    /// May be called on any thread.
    ///
    /// - Parameter argument: The arguments, in the order of the method's parameters.
    /// - Returns: Whether the message was sent.
    /// - Throws: As `oneWay`.
    @inlinable
    public func offer<each Argument: Codable>(_ argument: repeat each Argument) throws -> Bool {
        if place.follows { return try place.followingNow { try at($0).offer(repeat each argument) } }
        return try offer(encoded(repeat each argument, timeout: nil), reportsLosses: true)
    }

    /// Sends the message and blocks the thread until the result is there: for threads that run no task.
    ///
    /// The thread reads the connection itself while it waits. Incoming calls still run on the event loop's thread.
    ///
    /// - Parameters:
    ///   - argument: The arguments, in the order of the method's parameters.
    ///   - timeout: How long to wait for the result; `nil` for the connection's `callTimeout`, if it has one.
    /// - Returns: As the `async` call.
    /// - Throws: As the `async` call; `ConnectionError.wouldBlock` on an event loop's thread and in a task.
    @discardableResult
    @inlinable
    public func blocking<each Argument: Codable, Result: Codable>(
        _ argument: repeat each Argument, timeout: Duration? = nil
    ) throws -> Result {
        if place.follows {
            return try place.followingBlocking(timeout ?? place.followedTimeout) {
                try at($0).blocking(repeat each argument, timeout: $1)
            }
        }
        return try blockingResult(of: encoded(repeat each argument, timeout: timeout))
    }

    /// Sends the message and blocks the thread until the method has returned: for threads that run no task.
    ///
    /// - Parameters:
    ///   - argument: The arguments, in the order of the method's parameters.
    ///   - timeout: How long to wait; `nil` for the connection's `callTimeout`, if it has one.
    /// - Throws: As the call with a result.
    @inlinable
    public func blocking<each Argument: Codable>(
        _ argument: repeat each Argument, timeout: Duration? = nil
    ) throws {
        if place.follows {
            return try place.followingBlocking(timeout ?? place.followedTimeout) {
                try at($0).blocking(repeat each argument, timeout: $1)
            }
        }
        try blockingCompletion(of: encoded(repeat each argument, timeout: timeout))
    }

    /// Sends the message as `oneWay` does, and blocks the thread until there is room: for threads that run no task.
    ///
    /// - Parameters:
    ///   - argument: The arguments, in the order of the method's parameters.
    ///   - timeout: How long to wait; `nil` for no limit.
    /// - Throws: As `oneWay`; `ConnectionError.deadlineExceeded` when the time is over; `ConnectionError.wouldBlock` on
    ///   an event loop's thread and in a task.
    @inlinable
    public func blockingOneWay<each Argument: Codable>(
        _ argument: repeat each Argument, timeout: Duration? = nil
    ) throws {
        if place.follows {
            return try place.followingBlocking(timeout) {
                try at($0).blockingOneWay(repeat each argument, timeout: $1)
            }
        }
        try sendOneWayBlocking(encoded(repeat each argument, timeout: nil), within: timeout)
    }

    // MARK: Arguments

    /// Encodes the arguments.
    ///
    /// It is inlined into the caller's module, where their types are known.
    @inlinable
    @inline(__always)
    func encoded<each Argument: Codable>(
        _ argument: repeat each Argument, timeout: Duration?
    ) throws -> OutboundMessage {
        // An error is rare, so the message is dropped and not recycled.
        let message = try begun(timeout: timeout)
        do {
            try message.encode(arguments: repeat each argument)
        } catch {
            throw unsent(error, in: message)
        }
        return message
    }

    @usableFromInline
    func begun(timeout: Duration?) throws -> OutboundMessage {
        let message = try place.takeMessage()
        if let timeout {
            message.deadline = place.heldConnection.map { Deadline(after: timeout, at: $0.now) }
        }
        message.name = name
        return message
    }

    @usableFromInline
    func unsent(_ error: any Error, in message: OutboundMessage) -> any Error {
        named(ConnectionError.unsent(error, name, position: message.position))
    }

    /// Adds the message's name to an error that the end of the connection caused.
    func named(_ error: any Error) -> any Error {
        guard let error = error as? ConnectionError else { return error }
        switch error.code {
        case .notSent, .notDelivered, .outcomeUnknown: return error.about(name)
        case .closed where error.context == nil || error.context == name:
            return place.heldConnection?.closedError(error, for: name) ?? error
        default: return error
        }
    }

    /// Gives a call without a deadline the connection's `callTimeout`, and what the call passes on that is served.
    @inline(__always)
    func prepare(_ message: OutboundMessage, for connection: Connection) {
        if let limit = connection.settings.callTimeout, message.deadline == nil {
            message.deadline = Deadline(after: limit, at: connection.now)
        }
        passContext(on: message, over: connection)
    }

    /// Gives a message with an answer the metadata and the deadline of the call that is served.
    @inline(__always)
    func passContext(on message: OutboundMessage, over connection: Connection) {
        if let context = CallContext.inherited { pass(context, on: message, connection) }
    }

    @inline(never)
    private func pass(_ context: CallContext, on message: OutboundMessage, _ connection: Connection) {
        if !context.encoded.isEmpty { message.metadata = context.encoded }
        if let end = context.deadline, message.deadline?.isAfter(end) ?? true {
            message.deadline = Deadline(at: end, now: connection.now)
        }
    }

    /// Gives a message without an answer the metadata of the call that is served.
    ///
    /// - Parameter limit: How long the message may wait for room; nil for no limit.
    /// - Returns: How long it may wait, which is not beyond the deadline of that call. The message itself has no deadline.
    @discardableResult
    func passContext(
        onOneWay message: OutboundMessage, over connection: Connection, within limit: Duration? = nil
    ) -> Duration? {
        guard let context = CallContext.inherited else { return limit }
        if !context.encoded.isEmpty { message.metadata = context.encoded }
        guard let end = context.deadline else { return limit }
        let left = Deadline(at: end, now: connection.now).limit
        return limit.map { min($0, left) } ?? left
    }

    // MARK: Sending

    func heldConnection() throws -> Connection {
        try withExtendedLifetime(place) { try place.sending().takeUnretainedValue() }
    }

    @usableFromInline
    func result<Result: Codable>(
        of message: consuming OutboundMessage, as signature: SignatureRecord? = nil
    ) async throws -> Result {
        let connection = try place.sending()
        defer { withExtendedLifetime(place) {} }
        let reply = try await reply(to: message, over: connection)
        return try connection._withUnsafeGuaranteedRef { try $0.coder.result(of: reply, from: name, as: signature) }
    }

    /// Sends the message over a connection, and returns its answer as it came.
    @inline(__always)
    func reply(to message: consuming OutboundMessage, over connection: Unmanaged<Connection>) async throws -> Reply {
        connection._withUnsafeGuaranteedRef { prepare(message, for: $0) }
        do { return try await Connection.sendCall(consume message, over: connection) } catch { throw named(error) }
    }

    @usableFromInline
    func completion(of message: consuming OutboundMessage, as signature: SignatureRecord? = nil) async throws {
        let connection = try place.sending()
        defer { withExtendedLifetime(place) {} }
        let reply = try await reply(to: message, over: connection)
        try connection._withUnsafeGuaranteedRef { try $0.coder.completion(of: reply, from: name, as: signature) }
    }

    @usableFromInline
    func sendOneWay(_ message: consuming OutboundMessage, within limit: Duration?) async throws {
        let connection = try heldConnection()
        let limit = passContext(onOneWay: message, over: connection, within: limit)
        do { try await connection.sendOneWay(message, within: limit) } catch { throw named(error) }
    }

    /// - Parameter reportsLosses: Whether to throw if messages sent earlier are lost.
    @usableFromInline
    func offer(_ message: consuming OutboundMessage, reportsLosses: Bool) throws -> Bool {
        let connection = try heldConnection()
        passContext(onOneWay: message, over: connection)
        if try connection.offerOneWay(message, reportsLosses: reportsLosses) { return true }
        connection.coder.recycle(message)
        return false
    }

    @usableFromInline
    func blockingResult<Result: Codable>(
        of message: consuming OutboundMessage, as signature: SignatureRecord? = nil
    ) throws -> Result {
        let connection = try heldConnection()
        prepare(message, for: connection)
        let reply: Reply
        do { reply = try connection.sendCallBlocking(message) } catch { throw named(error) }
        return try connection.coder.result(of: reply, from: name, as: signature)
    }

    @usableFromInline
    func blockingCompletion(of message: consuming OutboundMessage, as signature: SignatureRecord? = nil) throws {
        let connection = try heldConnection()
        prepare(message, for: connection)
        let reply: Reply
        do { reply = try connection.sendCallBlocking(message) } catch { throw named(error) }
        try connection.coder.completion(of: reply, from: name, as: signature)
    }

    @usableFromInline
    func sendOneWayBlocking(_ message: consuming OutboundMessage, within limit: Duration?) throws {
        let connection = try heldConnection()
        let limit = passContext(onOneWay: message, over: connection, within: limit)
        do { try connection.sendOneWayBlocking(message, within: limit) } catch { throw named(error) }
    }
}
