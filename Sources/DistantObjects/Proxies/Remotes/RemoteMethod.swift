/// A message of a ``Remote`` that waits for its arguments, whose types and result the compiler knows.
///
/// `directory.add(person)` waits for the answer; `.oneWay` does not ask for one; `.blocking` is for plain threads. What they
/// throw besides is what ``RemoteMessage`` says of the function of the same name.
public struct RemoteMethod<Result, each Argument: Codable & SendableMetatype>: Sendable {
    // Naming a message counts these two references. The message itself is made when it is sent.
    @usableFromInline let place: MessagePlace
    @usableFromInline let signature: SignatureRecord

    @inlinable
    init(_ object: DistantObject, _ signature: SignatureRecord) {
        place = object.place.route
        self.signature = signature
    }

    @inlinable var message: RemoteMessage { place.message(signature) }

    /// Whether the object has the message, as far as this side knows.
    ///
    /// It is false only for messages with a version (`since:`), and true where the object's class is not described.
    public var isAvailable: Bool { message.obstacle(to: signature) == nil }

    /// Sends the message and waits for nothing but room, no longer than the deadline if there is one.
    ///
    /// - Parameters:
    ///   - argument: The arguments, in the order of the signature.
    ///   - deadline: How long to wait for room; `nil` for no limit.
    /// - Throws: As `RemoteMessage.oneWay`; `ConnectionError.notAvailable`.
    @inlinable
    public func oneWay(_ argument: repeat each Argument, deadline: Duration? = nil) async throws {
        let message = message
        try await message.sendOneWay(
            message.encoded(repeat each argument, deadline: nil, as: signature), within: deadline)
    }

    /// Sends the message if there is room now, from any thread, without waiting.
    ///
    /// - Parameter argument: The arguments, in the order of the signature.
    /// - Returns: Whether it was sent.
    /// - Throws: As `RemoteMessage.offer`; `ConnectionError.notAvailable`.
    @inlinable
    public func offer(_ argument: repeat each Argument) throws -> Bool {
        let message = message
        return try message.offer(
            message.encoded(repeat each argument, deadline: nil, as: signature), reportsLosses: true)
    }

    /// Sends the message from a plain thread and blocks it only until there is room, no longer than the deadline.
    ///
    /// - Parameters:
    ///   - argument: The arguments, in the order of the signature.
    ///   - deadline: How long to wait for room; `nil` for no limit.
    /// - Throws: As `RemoteMessage.blockingOneWay`; `ConnectionError.notAvailable`.
    @inlinable
    public func blockingOneWay(_ argument: repeat each Argument, deadline: Duration? = nil) throws {
        let message = message
        try message.sendOneWayBlocking(
            message.encoded(repeat each argument, deadline: nil, as: signature), within: deadline)
    }
}

extension RemoteMethod where Result: Codable {
    /// Sends the message and waits for its result.
    ///
    /// - Parameter argument: The arguments, in the order of the signature.
    /// - Throws: As `RemoteMessage.callAsFunction`; `ConnectionError.notAvailable`.
    @inlinable
    @discardableResult
    public func callAsFunction(_ argument: repeat each Argument) async throws -> Result {
        let message = message
        return try await message.result(
            of: message.encoded(repeat each argument, deadline: nil, as: signature), as: signature)
    }

    /// Sends the message and waits for its result no longer than the deadline; `nil`: than the connection's, if it has one.
    ///
    /// - Parameters:
    ///   - argument: The arguments, in the order of the signature.
    ///   - deadline: How long to wait; `nil` for the connection's `callDeadline`, if it has one.
    /// - Throws: As `RemoteMessage.call`; `ConnectionError.notAvailable`.
    @inlinable
    @discardableResult
    public func call(_ argument: repeat each Argument, deadline: Duration?) async throws -> Result {
        let message = message
        return try await message.result(
            of: message.encoded(repeat each argument, deadline: deadline, as: signature), as: signature)
    }

    /// Sends the message from a plain thread and blocks it until the result is there.
    ///
    /// - Parameters:
    ///   - argument: The arguments, in the order of the signature.
    ///   - deadline: How long to wait; `nil` for the connection's `callDeadline`, if it has one.
    /// - Throws: As `RemoteMessage.blocking`; `ConnectionError.notAvailable`.
    @inlinable
    @discardableResult
    public func blocking(_ argument: repeat each Argument, deadline: Duration? = nil) throws -> Result {
        let message = message
        return try message.blockingResult(
            of: message.encoded(repeat each argument, deadline: deadline, as: signature), as: signature)
    }
}

extension RemoteMethod where Result == Void {
    /// Sends the message and waits until its method has returned.
    ///
    /// - Parameter argument: The arguments, in the order of the signature.
    /// - Throws: As `RemoteMessage.callAsFunction`; `ConnectionError.notAvailable`.
    @inlinable
    public func callAsFunction(_ argument: repeat each Argument) async throws {
        let message = message
        try await message.completion(
            of: message.encoded(repeat each argument, deadline: nil, as: signature), as: signature)
    }

    /// Sends the message and waits until its method has returned, no longer than the deadline.
    ///
    /// - Parameters:
    ///   - argument: The arguments, in the order of the signature.
    ///   - deadline: How long to wait; `nil` for the connection's `callDeadline`, if it has one.
    /// - Throws: As `RemoteMessage.call`; `ConnectionError.notAvailable`.
    @inlinable
    public func call(_ argument: repeat each Argument, deadline: Duration?) async throws {
        let message = message
        try await message.completion(
            of: message.encoded(repeat each argument, deadline: deadline, as: signature), as: signature)
    }

    /// Sends the message from a plain thread and blocks it until the method has returned.
    ///
    /// - Parameters:
    ///   - argument: The arguments, in the order of the signature.
    ///   - deadline: How long to wait; `nil` for the connection's `callDeadline`, if it has one.
    /// - Throws: As `RemoteMessage.blocking`; `ConnectionError.notAvailable`.
    @inlinable
    public func blocking(_ argument: repeat each Argument, deadline: Duration? = nil) throws {
        let message = message
        try message.blockingCompletion(
            of: message.encoded(repeat each argument, deadline: deadline, as: signature), as: signature)
    }
}

// Promises: a result that is an object, used before it has come.
extension RemoteMethod where Result: InterfaceReference {
    /// Sends the message and returns a remote for its result without waiting for it; see ``RemoteMessage/promise(_:)``.
    ///
    /// Whether the result answers the interface shows when messages are sent to it.
    ///
    /// - Parameter argument: The arguments, in the order of the signature.
    @inlinable
    public func promise(_ argument: repeat each Argument) -> Remote<Result.I> {
        Remote(promised(repeat each argument), InterfaceShape.of(Result.I.self))
    }
}

extension RemoteMethod {
    /// Sends the message and returns a remote for its result without waiting for it; see ``RemoteMessage/promise(_:)``.
    ///
    /// If the result is `nil`, what was sent to it fails with `ConnectionError.noObject`.
    ///
    /// - Parameter argument: The arguments, in the order of the signature.
    @inlinable
    public func promise<Reference: InterfaceReference>(
        _ argument: repeat each Argument
    ) -> Remote<Reference.I> where Result == Reference? {
        Remote(promised(repeat each argument), InterfaceShape.of(Reference.I.self))
    }

    /// Sends the message and returns a proxy for its result without waiting for it; see ``RemoteMessage/promise(_:)``.
    ///
    /// - Parameter argument: The arguments, in the order of the signature.
    @inlinable
    public func promise(_ argument: repeat each Argument) -> DistantObject where Result == DistantObject {
        promised(repeat each argument)
    }

    /// Sends the message and returns a proxy for its result without waiting for it; see ``RemoteMessage/promise(_:)``.
    ///
    /// If the result is `nil`, what was sent to it fails with `ConnectionError.noObject`.
    ///
    /// - Parameter argument: The arguments, in the order of the signature.
    @inlinable
    public func promise(_ argument: repeat each Argument) -> DistantObject where Result == DistantObject? {
        promised(repeat each argument)
    }

    @inlinable
    func promised(_ argument: repeat each Argument) -> DistantObject {
        let message = message
        do {
            return try message.promised(message.encoded(repeat each argument, deadline: nil, as: signature))
        } catch {
            return message.failedPromise(error)
        }
    }
}

extension RemoteMethod {
    /// The message as the answer of a method of this process; see ``TailCall``.
    ///
    /// - Parameter argument: The arguments, in the order of the signature.
    @inlinable
    public func tailCall(_ argument: repeat each Argument) -> TailCall<Result> {
        do {
            let message = message
            return try message.tail(message.encoded(repeat each argument, deadline: nil, as: signature))
        } catch {
            return TailCall { _, _ in throw error }
        }
    }
}
