// Lines of a message table whose method has to have the types of a signature.
extension Message {
    /// A synchronous method that answers a message of an interface, with a result.
    ///
    /// - Parameters:
    ///   - path: The signature in the interface.
    ///   - method: The method that answers the message, as `Class.method`, or a closure that returns it for an object.
    @inlinable
    public init<I: Interface, each Argument: Codable & SendableMetatype, Result: Codable & SendableMetatype>(
        _ path: KeyPath<I, Signature<Result, repeat each Argument>>,
        _ method: @escaping @Sendable (Target) -> (repeat each Argument) throws -> Result
    ) {
        self.init(nameOfMessage(path), method)
    }

    /// A synchronous method that answers a message of an interface, without a result.
    ///
    /// - Parameters:
    ///   - path: The signature in the interface.
    ///   - method: The method that answers the message, as `Class.method`, or a closure that returns it for an object.
    @inlinable
    public init<I: Interface, each Argument: Codable & SendableMetatype>(
        _ path: KeyPath<I, Signature<Void, repeat each Argument>>,
        _ method: @escaping @Sendable (Target) -> (repeat each Argument) throws -> Void
    ) {
        self.init(nameOfMessage(path), method)
    }

    /// An `async` method that answers a message of an interface, with a result.
    ///
    /// - Parameters:
    ///   - path: The signature in the interface.
    ///   - method: The method that answers the message, as `Class.method`, or a closure that returns it for an object.
    public init<I: Interface, each Argument: Codable & SendableMetatype, Result: Codable & SendableMetatype>(
        _ path: KeyPath<I, Signature<Result, repeat each Argument>>,
        _ method: @escaping @Sendable (Target) -> @concurrent (repeat sending each Argument) async throws -> Result
    ) {
        self.init(nameOfMessage(path), method)
    }

    /// An `async` method that answers a message of an interface, without a result.
    ///
    /// - Parameters:
    ///   - path: The signature in the interface.
    ///   - method: The method that answers the message, as `Class.method`, or a closure that returns it for an object.
    public init<I: Interface, each Argument: Codable & SendableMetatype>(
        _ path: KeyPath<I, Signature<Void, repeat each Argument>>,
        _ method: @escaping @Sendable (Target) -> @concurrent (repeat sending each Argument) async throws -> Void
    ) {
        self.init(nameOfMessage(path), method)
    }

    /// A synchronous method of a `@MainActor` class that answers a message of an interface, with a result.
    ///
    /// - Parameters:
    ///   - path: The signature in the interface.
    ///   - method: The method that answers the message, as `Class.method`, or a closure that returns it for an object.
    public init<I: Interface, each Argument: Codable & SendableMetatype, Result: Codable & Sendable>(
        _ path: KeyPath<I, Signature<Result, repeat each Argument>>,
        _ method: @escaping @Sendable (Target) -> @MainActor (repeat each Argument) throws -> Result
    ) {
        self.init(nameOfMessage(path), method)
    }

    /// A synchronous method of a `@MainActor` class that answers a message of an interface, without a result.
    ///
    /// - Parameters:
    ///   - path: The signature in the interface.
    ///   - method: The method that answers the message, as `Class.method`, or a closure that returns it for an object.
    public init<I: Interface, each Argument: Codable & SendableMetatype>(
        _ path: KeyPath<I, Signature<Void, repeat each Argument>>,
        _ method: @escaping @Sendable (Target) -> @MainActor (repeat each Argument) throws -> Void
    ) {
        self.init(nameOfMessage(path), method)
    }
}

// Where the signature says `Remote`, a method may return its own object.
extension Message {
    /// A synchronous method that answers with an object of its own.
    ///
    /// - Parameters:
    ///   - path: The signature in the interface.
    ///   - method: The method that answers the message, as `Class.method`, or a closure that returns it for an object.
    public init<
        I: Interface, Reference: _InterfaceReference, Object: Vendable & Implements & SendableMetatype,
        each Argument: Codable & SendableMetatype
    >(
        _ path: KeyPath<I, Signature<Reference, repeat each Argument>>,
        _ method: @escaping @Sendable (Target) -> (repeat each Argument) throws -> Object
    ) where Object.I == Reference.I {
        self.init(nameOfMessage(path), method)
    }

    /// A synchronous method that answers with an object of its own, or with none.
    ///
    /// - Parameters:
    ///   - path: The signature in the interface.
    ///   - method: The method that answers the message, as `Class.method`, or a closure that returns it for an object.
    public init<
        I: Interface, Reference: _InterfaceReference, Object: Vendable & Implements & SendableMetatype,
        each Argument: Codable & SendableMetatype
    >(
        _ path: KeyPath<I, Signature<Reference?, repeat each Argument>>,
        _ method: @escaping @Sendable (Target) -> (repeat each Argument) throws -> Object?
    ) where Object.I == Reference.I {
        self.init(nameOfMessage(path), method)
    }

    /// An `async` method that answers with an object of its own.
    ///
    /// - Parameters:
    ///   - path: The signature in the interface.
    ///   - method: The method that answers the message, as `Class.method`, or a closure that returns it for an object.
    public init<
        I: Interface, Reference: _InterfaceReference, Object: Vendable & Implements & SendableMetatype,
        each Argument: Codable & SendableMetatype
    >(
        _ path: KeyPath<I, Signature<Reference, repeat each Argument>>,
        _ method: @escaping @Sendable (Target) -> @concurrent (repeat sending each Argument) async throws -> Object
    ) where Object.I == Reference.I {
        self.init(nameOfMessage(path), method)
    }

    /// An `async` method that answers with an object of its own, or with none.
    ///
    /// - Parameters:
    ///   - path: The signature in the interface.
    ///   - method: The method that answers the message, as `Class.method`, or a closure that returns it for an object.
    public init<
        I: Interface, Reference: _InterfaceReference, Object: Vendable & Implements & SendableMetatype,
        each Argument: Codable & SendableMetatype
    >(
        _ path: KeyPath<I, Signature<Reference?, repeat each Argument>>,
        _ method: @escaping @Sendable (Target) -> @concurrent (repeat sending each Argument) async throws -> Object?
    ) where Object.I == Reference.I {
        self.init(nameOfMessage(path), method)
    }

    /// A synchronous method of a `@MainActor` class that answers with an object of its own.
    ///
    /// - Parameters:
    ///   - path: The signature in the interface.
    ///   - method: The method that answers the message, as `Class.method`, or a closure that returns it for an object.
    public init<
        I: Interface, Reference: _InterfaceReference, Object: Vendable & Implements & SendableMetatype,
        each Argument: Codable & SendableMetatype
    >(
        _ path: KeyPath<I, Signature<Reference, repeat each Argument>>,
        _ method: @escaping @Sendable (Target) -> @MainActor (repeat each Argument) throws -> Object
    ) where Object.I == Reference.I {
        self.init(nameOfMessage(path), method)
    }

    /// A synchronous method of a `@MainActor` class that answers with an object of its own, or with none.
    ///
    /// - Parameters:
    ///   - path: The signature in the interface.
    ///   - method: The method that answers the message, as `Class.method`, or a closure that returns it for an object.
    public init<
        I: Interface, Reference: _InterfaceReference, Object: Vendable & Implements & SendableMetatype,
        each Argument: Codable & SendableMetatype
    >(
        _ path: KeyPath<I, Signature<Reference?, repeat each Argument>>,
        _ method: @escaping @Sendable (Target) -> @MainActor (repeat each Argument) throws -> Object?
    ) where Object.I == Reference.I {
        self.init(nameOfMessage(path), method)
    }
}

/// The name of a message on the wire.
@usableFromInline
func nameOfMessage<I: Interface, Result, each Argument: Codable & SendableMetatype>(
    _ path: KeyPath<I, Signature<Result, repeat each Argument>>
) -> String {
    InterfaceShape.of(I.self).record(path).name
}
