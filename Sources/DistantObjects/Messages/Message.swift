import KeyedArchive

/// One message of a `Vendable` class: a name and the method that answers it.
///
/// Synchronous and `async` methods, throwing or not, with or without a result all fit. Arguments and results are `Codable`;
/// they are matched by position, so labels do not matter.
///
/// A method of an actor, or one whose argument passes ownership on, is given as a closure:
/// `Message("bump") { (counter: Counter) in { (step: Int) in await counter.bump(step) } }`.
public struct Message<Target: AnyObject>: Sendable {
    let body: MessageBody

    /// A synchronous method with a result.
    ///
    /// It runs on the connection's loop, without a task of its own.
    public init<each Argument: Codable & SendableMetatype, Result: Codable & SendableMetatype>(
        _ name: String,
        _ method: @escaping @Sendable (Target) -> (repeat each Argument) throws -> Result
    ) {
        let arguments = (repeat ValueCodec.of((each Argument).self))
        let result = ValueCodec.of(Result.self)
        body = MessageBody(
            name: name, target: Target.self, argumentTypes: typeNames(repeat (each Argument).self),
            resultType: Result.self,
            run: .synchronous { object, decoder, encoder in
                let target = unsafeDowncast(object, to: Target.self)
                let values = try decodingArguments { (repeat try decoder.decodeTop(each arguments)) }
                let value: Result = try method(target)(repeat each values)
                try encodingResult { try encoder.encodeTop(value, result) }
            }
        )
    }

    /// A synchronous method without a result.
    public init<each Argument: Codable & SendableMetatype>(
        _ name: String,
        _ method: @escaping @Sendable (Target) -> (repeat each Argument) throws -> Void
    ) {
        let arguments = (repeat ValueCodec.of((each Argument).self))
        body = MessageBody(
            name: name, target: Target.self, argumentTypes: typeNames(repeat (each Argument).self),
            resultType: Void.self,
            run: .synchronous { object, decoder, _ in
                let target = unsafeDowncast(object, to: Target.self)
                let values = try decodingArguments { (repeat try decoder.decodeTop(each arguments)) }
                try method(target)(repeat each values)
            }
        )
    }

    /// An `async` method with a result.
    ///
    /// It runs in a task whose preferred executor is the connection's loop.
    public init<each Argument: Codable & SendableMetatype, Result: Codable & SendableMetatype>(
        _ name: String,
        _ method: @escaping @Sendable (Target) -> @concurrent (repeat sending each Argument) async throws -> Result
    ) {
        let arguments = (repeat ValueCodec.of((each Argument).self))
        let result = ValueCodec.of(Result.self)
        body = MessageBody(
            name: name, target: Target.self, argumentTypes: typeNames(repeat (each Argument).self),
            resultType: Result.self,
            run: .asynchronous { call in
                let target = unsafeDowncast(call.object, to: Target.self)
                let decoder = try call.decoder()
                let value: Result = try await method(target)(repeat try fresh(decoder, each arguments))
                try encodingResult { try call.encoder.encodeTop(value, result) }
            }
        )
    }

    /// An `async` method without a result.
    public init<each Argument: Codable & SendableMetatype>(
        _ name: String,
        _ method: @escaping @Sendable (Target) -> @concurrent (repeat sending each Argument) async throws -> Void
    ) {
        let arguments = (repeat ValueCodec.of((each Argument).self))
        body = MessageBody(
            name: name, target: Target.self, argumentTypes: typeNames(repeat (each Argument).self),
            resultType: Void.self,
            run: .asynchronous { call in
                let target = unsafeDowncast(call.object, to: Target.self)
                let decoder = try call.decoder()
                try await method(target)(repeat try fresh(decoder, each arguments))
            }
        )
    }
}

/// An argument that could not be read: told apart from what the method itself throws.
struct ArgumentFailure: Error {
    let underlying: any Error
}

/// A result that could not be written: told apart from what the method itself throws.
struct ResultFailure: Error {
    let underlying: any Error
}

private func decodingArguments<Values>(_ decode: () throws -> Values) throws -> Values {
    do { return try decode() } catch { throw ArgumentFailure(underlying: error) }
}

private func encodingResult(_ encode: () throws -> Void) throws {
    do { try encode() } catch { throw ResultFailure(underlying: error) }
}

/// Decodes one argument that nothing else refers to, so that it may be sent into an actor.
private func fresh<Value>(_ decoder: ObjectDecoder, _ codec: ValueCodec<Value>) throws -> sending Value {
    do {
        // The decoder is dropped with the call; what it made is reachable from the arguments alone.
        nonisolated(unsafe) let value = try decoder.decodeTop(codec)
        return value
    } catch {
        throw ArgumentFailure(underlying: error)
    }
}

private func typeNames<each Argument>(_ types: repeat (each Argument).Type) -> [String] {
    var names: [String] = []
    for type in repeat each types {
        names.append(String(describing: type))
    }
    return names
}
