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
        place = object.place
        self.signature = signature
    }

    /// The message to an object that the place stands for now.
    @inlinable
    init(at place: MessagePlace, _ signature: SignatureRecord) {
        self.place = place
        self.signature = signature
    }

    @inlinable var message: RemoteMessage { place.route.message(signature) }

    /// Whether the object has the message, as far as this side knows.
    ///
    /// It is false only for messages with a version (`since:`), and true where the object's class is not described.
    public var isAvailable: Bool { message.obstacle(to: signature) == nil }

    /// Sends the message without asking for an answer, and waits only for room: for news that nobody answers.
    ///
    /// - Parameters:
    ///   - argument: The arguments, in the order of the signature.
    ///   - timeout: How long to wait for room; `nil` for no limit.
    /// - Throws: As `RemoteMessage.oneWay`; `ConnectionError.notAvailable`.
    @inlinable
    public func oneWay(_ argument: repeat each Argument, timeout: Duration? = nil) async throws {
        if place.follows {
            return try await place.following(timeout) {
                try await Self(at: $0, signature).oneWay(repeat each argument, timeout: $1)
            }
        }
        let message = message
        try await message.sendOneWay(
            message.encoded(repeat each argument, timeout: nil, as: signature), within: timeout)
    }

    /// Sends the message as `oneWay` does if there is room now: for code that must not wait, and can drop the message.
    ///
    /// - Parameter argument: The arguments, in the order of the signature.
    /// - Returns: Whether it was sent.
    /// - Throws: As `RemoteMessage.offer`; `ConnectionError.notAvailable`.
    @inlinable
    public func offer(_ argument: repeat each Argument) throws -> Bool {
        if place.follows {
            return try place.followingNow { try Self(at: $0, signature).offer(repeat each argument) }
        }
        let message = message
        return try message.offer(
            message.encoded(repeat each argument, timeout: nil, as: signature), reportsLosses: true)
    }

    /// Sends the message as `oneWay` does, and blocks the thread until there is room: for threads that run no task.
    ///
    /// - Parameters:
    ///   - argument: The arguments, in the order of the signature.
    ///   - timeout: How long to wait for room; `nil` for no limit.
    /// - Throws: As `RemoteMessage.blockingOneWay`; `ConnectionError.notAvailable`.
    @inlinable
    public func blockingOneWay(_ argument: repeat each Argument, timeout: Duration? = nil) throws {
        if place.follows {
            return try place.followingBlocking(timeout) {
                try Self(at: $0, signature).blockingOneWay(repeat each argument, timeout: $1)
            }
        }
        let message = message
        try message.sendOneWayBlocking(
            message.encoded(repeat each argument, timeout: nil, as: signature), within: timeout)
    }
}

extension RemoteMethod where Result: Codable {
    /// Sends the message and waits for its result, without blocking a thread: what a task wants.
    ///
    /// - Parameters:
    ///   - argument: The arguments, in the order of the signature.
    ///   - timeout: How long to wait; `nil` for the connection's `callTimeout`, if it has one.
    /// - Throws: As `RemoteMessage.callAsFunction`; `ConnectionError.notAvailable`.
    @inlinable
    @discardableResult
    public func callAsFunction(_ argument: repeat each Argument, timeout: Duration? = nil) async throws -> Result {
        if place.follows {
            return try await place.following(timeout ?? place.followedTimeout, mayRunTwice: signature.isIdempotent) {
                try await Self(at: $0, signature).callAsFunction(repeat each argument, timeout: $1)
            }
        }
        let message = message
        return try await message.result(
            of: message.encoded(repeat each argument, timeout: timeout, as: signature), checking: signature)
    }

    /// Sends the message and blocks the thread until the result is there: for threads that run no task.
    ///
    /// - Parameters:
    ///   - argument: The arguments, in the order of the signature.
    ///   - timeout: How long to wait; `nil` for the connection's `callTimeout`, if it has one.
    /// - Throws: As `RemoteMessage.blocking`; `ConnectionError.notAvailable`.
    @inlinable
    @discardableResult
    public func blocking(_ argument: repeat each Argument, timeout: Duration? = nil) throws -> Result {
        if place.follows {
            return try place.followingBlocking(timeout ?? place.followedTimeout, mayRunTwice: signature.isIdempotent) {
                try Self(at: $0, signature).blocking(repeat each argument, timeout: $1)
            }
        }
        let message = message
        return try message.blockingResult(
            of: message.encoded(repeat each argument, timeout: timeout, as: signature), checking: signature)
    }
}

extension RemoteMethod where Result == Void {
    /// Sends the message and waits until its method has returned, without blocking a thread: what a task wants.
    ///
    /// - Parameters:
    ///   - argument: The arguments, in the order of the signature.
    ///   - timeout: How long to wait; `nil` for the connection's `callTimeout`, if it has one.
    /// - Throws: As `RemoteMessage.callAsFunction`; `ConnectionError.notAvailable`.
    @inlinable
    public func callAsFunction(_ argument: repeat each Argument, timeout: Duration? = nil) async throws {
        if place.follows {
            return try await place.following(timeout ?? place.followedTimeout, mayRunTwice: signature.isIdempotent) {
                try await Self(at: $0, signature).callAsFunction(repeat each argument, timeout: $1)
            }
        }
        let message = message
        try await message.completion(
            of: message.encoded(repeat each argument, timeout: timeout, as: signature), checking: signature)
    }

    /// Sends the message and blocks the thread until the method has returned: for threads that run no task.
    ///
    /// - Parameters:
    ///   - argument: The arguments, in the order of the signature.
    ///   - timeout: How long to wait; `nil` for the connection's `callTimeout`, if it has one.
    /// - Throws: As `RemoteMessage.blocking`; `ConnectionError.notAvailable`.
    @inlinable
    public func blocking(_ argument: repeat each Argument, timeout: Duration? = nil) throws {
        if place.follows {
            return try place.followingBlocking(timeout ?? place.followedTimeout, mayRunTwice: signature.isIdempotent) {
                try Self(at: $0, signature).blocking(repeat each argument, timeout: $1)
            }
        }
        let message = message
        try message.blockingCompletion(
            of: message.encoded(repeat each argument, timeout: timeout, as: signature), checking: signature)
    }
}

// Promises: a result that is an object, used before it has come.
extension RemoteMethod where Result: _InterfaceReference {
    /// Sends the message and returns a remote for its result at once: for calls to an object that has not come yet.
    ///
    /// See ``RemoteMessage/promise(_:)``. Whether the result answers the interface shows when messages are sent to it.
    ///
    /// - Parameter argument: The arguments, in the order of the signature.
    @inlinable
    public func promise(_ argument: repeat each Argument) -> Remote<Result.I> {
        Remote(promised(repeat each argument), InterfaceShape.of(Result.I.self))
    }
}

extension RemoteMethod {
    /// Sends the message and returns a remote for its result at once: for calls to an object that has not come yet.
    ///
    /// See ``RemoteMessage/promise(_:)``. If the result is `nil`, what was sent to it fails with `ConnectionError.noObject`.
    ///
    /// - Parameter argument: The arguments, in the order of the signature.
    @inlinable
    public func promise<Reference: _InterfaceReference>(
        _ argument: repeat each Argument
    ) -> Remote<Reference.I> where Result == Reference? {
        Remote(promised(repeat each argument), InterfaceShape.of(Reference.I.self))
    }

    /// Sends the message and returns a proxy for its result at once: for calls to an object that has not come yet.
    ///
    /// See ``RemoteMessage/promise(_:)``.
    ///
    /// - Parameter argument: The arguments, in the order of the signature.
    @inlinable
    public func promise(_ argument: repeat each Argument) -> DistantObject where Result == DistantObject {
        promised(repeat each argument)
    }

    /// Sends the message and returns a proxy for its result at once: for calls to an object that has not come yet.
    ///
    /// See ``RemoteMessage/promise(_:)``. If the result is `nil`, what was sent to it fails with `ConnectionError.noObject`.
    ///
    /// - Parameter argument: The arguments, in the order of the signature.
    @inlinable
    public func promise(_ argument: repeat each Argument) -> DistantObject where Result == DistantObject? {
        promised(repeat each argument)
    }

    @inlinable
    func promised(_ argument: repeat each Argument) -> DistantObject {
        if place.follows {
            return place.followingPromise { Self(at: $0, signature).promised(repeat each argument) }
        }
        let message = message
        do {
            return try message.promised(message.encoded(repeat each argument, timeout: nil, as: signature))
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
            return try message.tail(message.encoded(repeat each argument, timeout: nil, as: signature))
        } catch {
            return TailCall { _, _ in throw error }
        }
    }
}
