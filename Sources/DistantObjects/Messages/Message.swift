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
        let readers = argumentReaders(repeat (each Argument).self)
        let result = ValueCodec.of(Result.self)
        body = MessageBody(
            name: name, target: Target.self, argumentTypes: typeNames(repeat (each Argument).self),
            resultType: Result.self,
            run: .synchronous { object, decoder, encoder in
                let target = unsafeDowncast(object, to: Target.self)
                var arguments = Arguments(decoder, readers)
                let value: Result = try method(target)(repeat try arguments.next((each Argument).self))
                try encodingResult { try encoder.encodeTop(value, result) }
            }
        )
    }

    /// A synchronous method without a result.
    public init<each Argument: Codable & SendableMetatype>(
        _ name: String,
        _ method: @escaping @Sendable (Target) -> (repeat each Argument) throws -> Void
    ) {
        let readers = argumentReaders(repeat (each Argument).self)
        body = MessageBody(
            name: name, target: Target.self, argumentTypes: typeNames(repeat (each Argument).self),
            resultType: Void.self,
            run: .synchronous { object, decoder, _ in
                let target = unsafeDowncast(object, to: Target.self)
                var arguments = Arguments(decoder, readers)
                try method(target)(repeat try arguments.next((each Argument).self))
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
        let readers = argumentReaders(repeat (each Argument).self)
        let result = ValueCodec.of(Result.self)
        body = MessageBody(
            name: name, target: Target.self, argumentTypes: typeNames(repeat (each Argument).self),
            resultType: Result.self,
            run: .asynchronous { call in
                let target = unsafeDowncast(call.object, to: Target.self)
                var arguments = ServingArguments(call, readers)
                let value: Result = try await method(target)(repeat try arguments.next((each Argument).self))
                try encodingResult { try call.encoder.encodeTop(value, result) }
            }
        )
    }

    /// An `async` method without a result.
    public init<each Argument: Codable & SendableMetatype>(
        _ name: String,
        _ method: @escaping @Sendable (Target) -> @concurrent (repeat sending each Argument) async throws -> Void
    ) {
        let readers = argumentReaders(repeat (each Argument).self)
        body = MessageBody(
            name: name, target: Target.self, argumentTypes: typeNames(repeat (each Argument).self),
            resultType: Void.self,
            run: .asynchronous { call in
                let target = unsafeDowncast(call.object, to: Target.self)
                var arguments = ServingArguments(call, readers)
                try await method(target)(repeat try arguments.next((each Argument).self))
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

private func encodingResult(_ encode: () throws -> Void) throws {
    do { try encode() } catch { throw ResultFailure(underlying: error) }
}

/// The arguments of one call, decoded one after the other.
private struct Arguments {
    private let decoder: ObjectDecoder
    private let readers: [AnyValueCoder]
    private var position = 0

    init(_ decoder: ObjectDecoder, _ readers: [AnyValueCoder]) {
        self.decoder = decoder
        self.readers = readers
    }

    /// Asked once for each of the types that the readers were found for, in their order.
    mutating func next<Value>(_ type: Value.Type) throws -> Value {
        defer { position += 1 }
        do { return try decoder.decodeTop(type, readers[position]) } catch { throw ArgumentFailure(underlying: error) }
    }
}

/// As `Arguments`, for a method that may run long: it does not hold the decoder meanwhile.
private struct ServingArguments {
    private let call: any Serving
    private let readers: [AnyValueCoder]
    private var position = 0

    init(_ call: any Serving, _ readers: [AnyValueCoder]) {
        self.call = call
        self.readers = readers
    }

    /// Nothing else refers to what is decoded, so that it may be sent into an actor.
    mutating func next<Value>(_ type: Value.Type) throws -> sending Value {
        position += 1
        do {
            // The decoder lets go of what it made, which is reachable from the arguments alone.
            nonisolated(unsafe) let value = try call.argument(
                type, readers[position - 1], isLast: position == readers.count)
            return value
        } catch {
            throw error as? ArgumentFailure ?? ArgumentFailure(underlying: error)
        }
    }
}

/// In an array and not in a tuple, whose layout would be looked up for each call.
private func argumentReaders<each Argument: Decodable>(_ types: repeat (each Argument).Type) -> [AnyValueCoder] {
    var readers: [AnyValueCoder] = []
    for type in repeat each types { readers.append(ValueCodec.of(type).anyReader) }
    return readers
}

private func typeNames<each Argument>(_ types: repeat (each Argument).Type) -> [String] {
    var names: [String] = []
    for type in repeat each types {
        names.append(String(describing: type))
    }
    return names
}
