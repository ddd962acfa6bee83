import KeyedArchive

/// One message of a `Vendable` class: a name and the method that answers it.
///
/// Synchronous and `async` methods, throwing or not, with or without a result all fit. Arguments and results are `Codable`;
/// they are matched by position, so labels do not matter.
///
/// A method of an actor, or one whose argument passes ownership on, is given as a closure:
/// `Message("bump") { (counter: Counter) in { (step: Int) in await counter.bump(step) } }`. So are generic methods and those
/// whose arguments are existentials or tuples, with concrete types.
///
/// A method of a `@MainActor` class runs on the main actor.
///
/// - Important: A synchronous method of a class on another global actor is **always** given as an `async` closure:
///   `Message("get") { (account: Account) in { () async -> Int in await account.get() } }`. The compiler takes
///   `Message("get", Account.get)` without a warning, and the method then runs off its actor. A method with a variadic or
///   `inout` parameter crashes the compiler; give it as a closure, too. See <doc:Workarounds>.
public struct Message<Target: AnyObject>: Sendable {
    let body: MessageBody

    /// A synchronous method with a result.
    ///
    /// It runs on the connection's loop, without a task of its own.
    @inlinable
    public init<each Argument: Codable & SendableMetatype, Result: Codable & SendableMetatype>(
        _ name: String,
        _ method: @escaping @Sendable (Target) -> (repeat each Argument) throws -> Result
    ) {
        self.init(
            name,
            uncurried: { (target: Target, arguments: repeat each Argument) throws -> Result in
                try method(target)(repeat each arguments)
            })
    }

    /// A synchronous method without a result.
    @inlinable
    public init<each Argument: Codable & SendableMetatype>(
        _ name: String,
        _ method: @escaping @Sendable (Target) -> (repeat each Argument) throws -> Void
    ) {
        self.init(
            name,
            uncurried: { (target: Target, arguments: repeat each Argument) throws -> Void in
                try method(target)(repeat each arguments)
            })
    }

    // What the public ones, compiled where the method is known, make of it: its two applications are one, and no closure is
    // made for each call. For `async` methods it would be a further frame of the task instead.

    @usableFromInline
    init<each Argument: Codable & SendableMetatype, Result: Codable & SendableMetatype>(
        _ name: String, uncurried method: @escaping @Sendable (Target, repeat each Argument) throws -> Result
    ) {
        let readers = ArgumentReaders(repeat (each Argument).self)
        let result = ValueCodec.of(Result.self)
        body = MessageBody(
            name: name, target: Target.self, argumentTypes: typeNames(repeat (each Argument).self),
            resultType: Result.self,
            run: .synchronous { object, decoder, encoder in
                let target = unsafeDowncast(object, to: Target.self)
                var arguments = Arguments(decoder, readers)
                let value: Result = try method(target, repeat try arguments.next((each Argument).self))
                try encodeResult(value, result, encoder)
            }
        )
    }

    @usableFromInline
    init<each Argument: Codable & SendableMetatype>(
        _ name: String, uncurried method: @escaping @Sendable (Target, repeat each Argument) throws -> Void
    ) {
        let readers = ArgumentReaders(repeat (each Argument).self)
        body = MessageBody(
            name: name, target: Target.self, argumentTypes: typeNames(repeat (each Argument).self),
            resultType: Void.self,
            run: .synchronous { object, decoder, _ in
                let target = unsafeDowncast(object, to: Target.self)
                var arguments = Arguments(decoder, readers)
                try method(target, repeat try arguments.next((each Argument).self))
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
        let readers = ArgumentReaders(repeat (each Argument).self)
        let result = ValueCodec.of(Result.self)
        body = MessageBody(
            name: name, target: Target.self, argumentTypes: typeNames(repeat (each Argument).self),
            resultType: Result.self,
            run: .asynchronous { call in
                let target = unsafeDowncast(call.object, to: Target.self)
                var arguments = ServingArguments(call, readers)
                let value: Result = try await method(target)(repeat try arguments.next((each Argument).self))
                do { try call.encode(value, result) } catch { throw ResultFailure(underlying: error) }
            }
        )
    }

    /// An `async` method without a result.
    public init<each Argument: Codable & SendableMetatype>(
        _ name: String,
        _ method: @escaping @Sendable (Target) -> @concurrent (repeat sending each Argument) async throws -> Void
    ) {
        let readers = ArgumentReaders(repeat (each Argument).self)
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

    /// A synchronous method of a `@MainActor` class, with a result.
    ///
    /// It runs on the main actor, in a task of its own. The compiler refuses a result that is not `Sendable`.
    public init<each Argument: Codable & SendableMetatype, Result: Codable & Sendable>(
        _ name: String,
        _ method: @escaping @Sendable (Target) -> @MainActor (repeat each Argument) throws -> Result
    ) {
        let readers = ArgumentReaders(repeat (each Argument).self)
        let result = ValueCodec.of(Result.self)
        body = MessageBody(
            name: name, target: Target.self, argumentTypes: typeNames(repeat (each Argument).self),
            resultType: Result.self,
            run: .asynchronous { call in
                let target = unsafeDowncast(call.object, to: Target.self)
                var arguments = ServingArguments(call, readers)
                let value: Result = try await method(target)(repeat try arguments.next((each Argument).self))
                do { try call.encode(value, result) } catch { throw ResultFailure(underlying: error) }
            }
        )
    }

    /// A synchronous method of a `@MainActor` class, without a result.
    ///
    /// It runs on the main actor, in a task of its own.
    public init<each Argument: Codable & SendableMetatype>(
        _ name: String,
        _ method: @escaping @Sendable (Target) -> @MainActor (repeat each Argument) throws -> Void
    ) {
        let readers = ArgumentReaders(repeat (each Argument).self)
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
    /// Which argument it is, from 1; nil if none can be read.
    var position: Int?

    /// What the caller of `call` is told.
    func refusal(of call: String) -> ConnectionError {
        let sentence = sentence(for: underlying)
        return ConnectionError(
            .wrongArgument, position.map { "argument \($0): \(sentence)" } ?? sentence, context: call,
            underlying: underlying)
    }
}

/// A result that could not be written: told apart from what the method itself throws.
struct ResultFailure: Error {
    let underlying: any Error
}

/// A `ConnectionError` that the method itself threw, as a rule of another connection: told apart from what is wrong with the
/// call.
struct MethodFailure: Error {
    let underlying: ConnectionError

    /// What a method's run threw, as the answer to its caller is made from it.
    static func from(_ error: any Error) -> any Error {
        (error as? ConnectionError).map { MethodFailure(underlying: $0) } ?? error
    }
}

private func encodeResult<Value>(_ value: Value, _ codec: ValueCodec<Value>, _ encoder: Unmanaged<ObjectEncoder>?)
    throws
{
    do {
        try encoder?._withUnsafeGuaranteedRef { try $0.encodeTop(value, codec) }
    } catch {
        throw ResultFailure(underlying: error)
    }
}

/// The arguments of one call, decoded one after the other.
///
/// Only within the closure of a message, which is given the decoder and owns the readers: it counts no references to them.
private struct Arguments {
    private let decoder: Unmanaged<ObjectDecoder>
    private let readers: Unmanaged<ArgumentReaders>
    private var position = 0

    init(_ decoder: ObjectDecoder, _ readers: ArgumentReaders) {
        self.decoder = Unmanaged.passUnretained(decoder)
        self.readers = Unmanaged.passUnretained(readers)
    }

    /// Asked once for each of the types that the readers were found for, in their order.
    mutating func next<Value>(_ type: Value.Type) throws -> Value {
        let reader = readers._withUnsafeGuaranteedRef { $0.list[position] }
        position += 1
        do {
            return try decoder._withUnsafeGuaranteedRef { try $0.decodeTop(type, reader) }
        } catch {
            throw ArgumentFailure(underlying: error, position: position)
        }
    }
}

/// As `Arguments`, for a method that may run long: it does not hold the decoder meanwhile.
private struct ServingArguments {
    private let call: any Serving
    private let readers: ArgumentReaders
    private var position = 0

    init(_ call: any Serving, _ readers: ArgumentReaders) {
        self.call = call
        self.readers = readers
    }

    /// Nothing else refers to what is decoded, so that it may be sent into an actor.
    mutating func next<Value>(_ type: Value.Type) throws -> sending Value {
        position += 1
        do {
            // The decoder lets go of what it made, which is reachable from the arguments alone.
            nonisolated(unsafe) let value = try call.argument(
                type, readers.list[position - 1], isLast: position == readers.list.count)
            return value
        } catch {
            throw error as? ArgumentFailure ?? ArgumentFailure(underlying: error, position: position)
        }
    }
}

/// How the arguments of one message are read.
///
/// In an array and not in a tuple, whose layout would be looked up for each call.
private final class ArgumentReaders: Sendable {
    let list: [Unmanaged<AnyValueCoder>]

    init<each Argument: Decodable>(_ types: repeat (each Argument).Type) {
        var list: [Unmanaged<AnyValueCoder>] = []
        for type in repeat each types { list.append(ValueCodec.of(type).anyReader) }
        self.list = list
    }
}

private func typeNames<each Argument>(_ types: repeat (each Argument).Type) -> [String] {
    var names: [String] = []
    for type in repeat each types {
        names.append(String(describing: type))
    }
    return names
}
