// Messages answered by one closure that takes the object and the arguments.
//
// An actor's method cannot be listed as `Account.deposit`: the compiler makes of it a function that leaves the actor.
extension Message {
    /// A message that a closure answers with a result: for the methods of actors, and of classes on a global actor.
    ///
    /// The closure takes the object, then the arguments, whose types it gets from the method that it calls:
    ///
    /// ```swift
    /// Message("deposit") { await $0.deposit($1) }
    /// ```
    ///
    /// It runs in a task whose preferred executor is the connection's event loop. An argument that is not `Sendable` is written
    /// out to be handed to an actor: `{ (tally: Tally, note: sending Note) in await tally.keep(note) }`.
    ///
    /// - Parameters:
    ///   - name: The name of the message, by which callers send it.
    ///   - answer: What answers it.
    public init<each Argument: Codable & SendableMetatype, Result: Codable & SendableMetatype>(
        _ name: String,
        _ answer: @escaping @Sendable @concurrent (Target, repeat sending each Argument) async throws -> Result
    ) {
        let codecs = MessageCodecs(repeat (each Argument).self, result: Result.self)
        body = MessageBody(
            MessageDescription(
                name, TypeDescription.of(each: repeat (each Argument).self), TypeDescription.of(Result.self)),
            of: Target.self,
            run: .asynchronous { call in
                let target = unsafeDowncast(call.object, to: Target.self)
                var arguments = ServingArguments(call, codecs)
                let value: Result = try await answer(target, repeat try arguments.next((each Argument).self))
                do { try call.encode(value, codecs.writer) } catch { throw ResultFailure(underlying: error) }
            }
        )
    }

    /// A message that a closure answers without a result.
    ///
    /// - Parameters:
    ///   - name: The name of the message, by which callers send it.
    ///   - answer: What answers it.
    public init<each Argument: Codable & SendableMetatype>(
        _ name: String,
        _ answer: @escaping @Sendable @concurrent (Target, repeat sending each Argument) async throws -> Void
    ) {
        let codecs = MessageCodecs(repeat (each Argument).self)
        body = MessageBody(
            MessageDescription(
                name, TypeDescription.of(each: repeat (each Argument).self), TypeDescription.of(Void.self)),
            of: Target.self,
            run: .asynchronous { call in
                let target = unsafeDowncast(call.object, to: Target.self)
                var arguments = ServingArguments(call, codecs)
                try await answer(target, repeat try arguments.next((each Argument).self))
            }
        )
    }

    /// A message of an interface that a closure answers with a result: for the methods of actors, and of classes on a global
    /// actor.
    ///
    /// The signature says the types: `Message(\I.deposit) { await $0.deposit($1) }`. Where it says `Remote`, the closure
    /// returns `Remote(vending: object)`.
    ///
    /// - Parameters:
    ///   - path: The signature in the interface.
    ///   - answer: What answers it.
    public init<I: Interface, each Argument: Codable & SendableMetatype, Result: Codable & SendableMetatype>(
        _ path: KeyPath<I, Signature<Result, repeat each Argument>>,
        _ answer: @escaping @Sendable @concurrent (Target, repeat sending each Argument) async throws -> Result
    ) {
        self.init(nameOfMessage(path), answer)
    }

    /// A message of an interface that a closure answers without a result.
    ///
    /// - Parameters:
    ///   - path: The signature in the interface.
    ///   - answer: What answers it.
    public init<I: Interface, each Argument: Codable & SendableMetatype>(
        _ path: KeyPath<I, Signature<Void, repeat each Argument>>,
        _ answer: @escaping @Sendable @concurrent (Target, repeat sending each Argument) async throws -> Void
    ) {
        self.init(nameOfMessage(path), answer)
    }
}
