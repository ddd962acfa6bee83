// What the compiler chooses for a line of a message table to which no other initialiser fits, so that its error stands at
// the line and says what to compare.
//
// None of them takes a closure that an initialiser for use could take: the compiler's errors about what is in a closure are
// better than these.
extension Message {
    /// Not for use: the compiler answers it with what differs.
    @available(
        *, unavailable,
        message: "the method's arguments or result differ from the signature, or it takes `inout` or variadic arguments"
    )
    @_disfavoredOverload
    public init<I: Interface, Result, each Argument, Method>(
        _ path: KeyPath<I, Signature<Result, repeat each Argument>>, _ method: @escaping @Sendable (Target) -> Method
    ) {
        fatalError("the compiler refuses each use")
    }

    /// Not for use: the compiler answers it with what differs.
    @available(
        *, unavailable,
        message: "the method's result differs from the signature, or is not Codable; the arguments are the same"
    )
    @_disfavoredOverload
    public init<I: Interface, Result, each Argument, Other>(
        _ path: KeyPath<I, Signature<Result, repeat each Argument>>,
        _ method: @escaping @Sendable (Target) -> (repeat each Argument) throws -> Other
    ) {
        fatalError("the compiler refuses each use")
    }

    /// Not for use: the compiler answers it with the form for actors.
    @available(
        *, unavailable,
        message: "list an actor's method as a closure: `Message(\\I.deposit) { await $0.deposit($1) }`"
    )
    @_disfavoredOverload
    public init<I: Interface, Result, each Argument, Method>(
        _ path: KeyPath<I, Signature<Result, repeat each Argument>>,
        _ method: @escaping @Sendable (isolated Target) -> Method
    ) where Target: Actor {
        fatalError("the compiler refuses each use")
    }

    /// Not for use: the compiler answers it with what is wrong.
    @available(
        *, unavailable,
        message: "the method's arguments or its result are not Codable, or it takes `inout` or variadic arguments"
    )
    @_disfavoredOverload
    public init<Method>(_ name: String, _ method: @escaping @Sendable (Target) -> Method) {
        fatalError("the compiler refuses each use")
    }

    /// Not for use: the compiler answers it with the form for actors.
    @available(
        *, unavailable,
        message: "list an actor's method as a closure: `Message(\"deposit\") { await $0.deposit($1) }`"
    )
    @_disfavoredOverload
    public init<Method>(_ name: String, _ method: @escaping @Sendable (isolated Target) -> Method)
    where Target: Actor {
        fatalError("the compiler refuses each use")
    }
}
