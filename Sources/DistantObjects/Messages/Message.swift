import KeyedArchive

/// One message of a `Vendable` class: a name and the method that answers it.
///
/// The method may be synchronous or `async`, may throw, and may have a result. Arguments and results are `Codable`.
/// Arguments are matched by position; their labels do not matter.
///
/// Call a method of an actor, or one with a `consuming` parameter, in a closure that takes the object and the arguments:
/// `Message("bump") { await $0.bump($1) }`. Do the same, with concrete types for the arguments, for a generic method and for one
/// whose parameters are existentials or tuples.
///
/// A method of a `@MainActor` class runs on the main actor.
///
/// - Important: **Always** call a synchronous method of a class on another global actor in such a closure:
///   `Message("get") { await $0.get() }`. The compiler takes `Message("get", Account.get)` without a warning, and the method
///   then runs outside its actor. A method with a variadic or `inout` parameter crashes the compiler; call it in a closure,
///   too. See <doc:Workarounds>.
public struct Message<Target: AnyObject>: Sendable {
    let body: MessageBody

    /// A synchronous method with a result.
    ///
    /// The method runs on the connection's event loop, without a task of its own.
    ///
    /// - Parameters:
    ///   - name: The name of the message, by which callers send it.
    ///   - method: The method that answers the message, as `Class.method`, or a closure that returns it for an object.
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
    ///
    /// - Parameters:
    ///   - name: The name of the message, by which callers send it.
    ///   - method: The method that answers the message, as `Class.method`, or a closure that returns it for an object.
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

    // The public initialisers are compiled where the method is known. They turn `method(target)(arguments)` into one
    // application, so that a call creates no closure. An `async` method would pay with one more async frame, so it is not
    // uncurried.

    @usableFromInline
    init<each Argument: Codable & SendableMetatype, Result: Codable & SendableMetatype>(
        _ name: String, uncurried method: @escaping @Sendable (Target, repeat each Argument) throws -> Result
    ) {
        let codecs = MessageCodecs(repeat (each Argument).self, result: Result.self)
        body = MessageBody(
            MessageDescription(
                name, TypeDescription.of(each: repeat (each Argument).self), TypeDescription.of(Result.self)),
            of: Target.self,
            run: .synchronous { object, decoder, encoder in
                let target = unsafeDowncast(object, to: Target.self)
                var arguments = Arguments(decoder, codecs)
                let value: Result = try method(target, repeat try arguments.next((each Argument).self))
                try encodeResult(value, codecs, encoder)
            }
        )
    }

    @usableFromInline
    init<each Argument: Codable & SendableMetatype>(
        _ name: String, uncurried method: @escaping @Sendable (Target, repeat each Argument) throws -> Void
    ) {
        let codecs = MessageCodecs(repeat (each Argument).self)
        body = MessageBody(
            MessageDescription(
                name, TypeDescription.of(each: repeat (each Argument).self), TypeDescription.of(Void.self)),
            of: Target.self,
            run: .synchronous { object, decoder, _ in
                let target = unsafeDowncast(object, to: Target.self)
                var arguments = Arguments(decoder, codecs)
                try method(target, repeat try arguments.next((each Argument).self))
            }
        )
    }

    /// An `async` method with a result.
    ///
    /// The method runs in a task whose preferred executor is the connection's event loop.
    ///
    /// - Parameters:
    ///   - name: The name of the message, by which callers send it.
    ///   - method: The method that answers the message, as `Class.method`, or a closure that returns it for an object.
    public init<each Argument: Codable & SendableMetatype, Result: Codable & SendableMetatype>(
        _ name: String,
        _ method: @escaping @Sendable (Target) -> @concurrent (repeat sending each Argument) async throws -> Result
    ) {
        let codecs = MessageCodecs(repeat (each Argument).self, result: Result.self)
        body = MessageBody(
            MessageDescription(
                name, TypeDescription.of(each: repeat (each Argument).self), TypeDescription.of(Result.self)),
            of: Target.self,
            run: .asynchronous { call in
                let target = unsafeDowncast(call.object, to: Target.self)
                var arguments = ServingArguments(call, codecs)
                let value: Result = try await method(target)(repeat try arguments.next((each Argument).self))
                do { try call.encode(value, codecs.writer) } catch { throw ResultFailure(underlying: error) }
            }
        )
    }

    /// An `async` method without a result.
    ///
    /// - Parameters:
    ///   - name: The name of the message, by which callers send it.
    ///   - method: The method that answers the message, as `Class.method`, or a closure that returns it for an object.
    public init<each Argument: Codable & SendableMetatype>(
        _ name: String,
        _ method: @escaping @Sendable (Target) -> @concurrent (repeat sending each Argument) async throws -> Void
    ) {
        let codecs = MessageCodecs(repeat (each Argument).self)
        body = MessageBody(
            MessageDescription(
                name, TypeDescription.of(each: repeat (each Argument).self), TypeDescription.of(Void.self)),
            of: Target.self,
            run: .asynchronous { call in
                let target = unsafeDowncast(call.object, to: Target.self)
                var arguments = ServingArguments(call, codecs)
                try await method(target)(repeat try arguments.next((each Argument).self))
            }
        )
    }

    /// A synchronous method of a `@MainActor` class, with a result.
    ///
    /// The method runs on the main actor, in a task of its own. The result must be `Sendable`.
    ///
    /// - Parameters:
    ///   - name: The name of the message, by which callers send it.
    ///   - method: The method that answers the message, as `Class.method`, or a closure that returns it for an object.
    public init<each Argument: Codable & SendableMetatype, Result: Codable & Sendable>(
        _ name: String,
        _ method: @escaping @Sendable (Target) -> @MainActor (repeat each Argument) throws -> Result
    ) {
        let codecs = MessageCodecs(repeat (each Argument).self, result: Result.self)
        body = MessageBody(
            MessageDescription(
                name, TypeDescription.of(each: repeat (each Argument).self), TypeDescription.of(Result.self)),
            of: Target.self,
            run: .asynchronous { call in
                let target = unsafeDowncast(call.object, to: Target.self)
                var arguments = ServingArguments(call, codecs)
                let value: Result = try await method(target)(repeat try arguments.next((each Argument).self))
                do { try call.encode(value, codecs.writer) } catch { throw ResultFailure(underlying: error) }
            }
        )
    }

    /// A synchronous method of a `@MainActor` class, without a result.
    ///
    /// The method runs on the main actor, in a task of its own.
    ///
    /// - Parameters:
    ///   - name: The name of the message, by which callers send it.
    ///   - method: The method that answers the message, as `Class.method`, or a closure that returns it for an object.
    public init<each Argument: Codable & SendableMetatype>(
        _ name: String,
        _ method: @escaping @Sendable (Target) -> @MainActor (repeat each Argument) throws -> Void
    ) {
        let codecs = MessageCodecs(repeat (each Argument).self)
        body = MessageBody(
            MessageDescription(
                name, TypeDescription.of(each: repeat (each Argument).self), TypeDescription.of(Void.self)),
            of: Target.self,
            run: .asynchronous { call in
                let target = unsafeDowncast(call.object, to: Target.self)
                var arguments = ServingArguments(call, codecs)
                try await method(target)(repeat try arguments.next((each Argument).self))
            }
        )
    }

    /// A method that returns a closure, which writes the answer.
    init<each Argument: Codable & SendableMetatype>(
        _ name: String, result: TypeDescription,
        answeredBy method:
            @escaping @Sendable (Target, repeat each Argument) throws ->
            @Sendable (OutboundMessage) async throws -> Void
    ) {
        let codecs = MessageCodecs(repeat (each Argument).self)
        body = MessageBody(
            MessageDescription(name, TypeDescription.of(each: repeat (each Argument).self), result), of: Target.self,
            run: .asynchronous { call in
                let target = unsafeDowncast(call.object, to: Target.self)
                var arguments = ServingArguments(call, codecs)
                try await call.answer(method(target, repeat try arguments.next((each Argument).self)))
            }
        )
    }
}

extension Message {
    /// An `async` method whose result is converted before it is sent.
    init<each Argument: Codable & SendableMetatype, Own, Result: Codable & SendableMetatype>(
        _ name: String,
        asynchronous method:
            @escaping @Sendable (Target) -> @concurrent (repeat sending each Argument) async throws -> Own,
        _ convert: @escaping @Sendable (Own) -> Result
    ) {
        let codecs = MessageCodecs(repeat (each Argument).self, result: Result.self)
        body = MessageBody(
            MessageDescription(
                name, TypeDescription.of(each: repeat (each Argument).self), TypeDescription.of(Result.self)),
            of: Target.self,
            run: .asynchronous { call in
                let target = unsafeDowncast(call.object, to: Target.self)
                var arguments = ServingArguments(call, codecs)
                let value: Own = try await method(target)(repeat try arguments.next((each Argument).self))
                do { try call.encode(convert(value), codecs.writer) } catch { throw ResultFailure(underlying: error) }
            }
        )
    }

    /// A synchronous method of a `@MainActor` class whose result is converted before it is sent.
    init<each Argument: Codable & SendableMetatype, Own: Sendable, Result: Codable & Sendable>(
        _ name: String,
        onMainActor method: @escaping @Sendable (Target) -> @MainActor (repeat each Argument) throws -> Own,
        _ convert: @escaping @Sendable (Own) -> Result
    ) {
        let codecs = MessageCodecs(repeat (each Argument).self, result: Result.self)
        body = MessageBody(
            MessageDescription(
                name, TypeDescription.of(each: repeat (each Argument).self), TypeDescription.of(Result.self)),
            of: Target.self,
            run: .asynchronous { call in
                let target = unsafeDowncast(call.object, to: Target.self)
                var arguments = ServingArguments(call, codecs)
                let value: Own = try await method(target)(repeat try arguments.next((each Argument).self))
                do { try call.encode(convert(value), codecs.writer) } catch { throw ResultFailure(underlying: error) }
            }
        )
    }
}

/// An argument that cannot be decoded, as opposed to an error that the method itself throws.
struct ArgumentFailure: Error {
    let underlying: any Error
    /// Which argument it is, counted from 1; nil if none can be decoded.
    var position: Int?

    /// The error that the caller of `call` gets.
    func refusal(of call: String) -> ConnectionError {
        if let overload = PortCoder.overload(in: underlying) {
            return ConnectionError(.overloaded, overload.message, context: call)
        }
        let sentence = sentence(for: underlying)
        return ConnectionError(
            .wrongArgument, position.map { "argument \($0): \(sentence)" } ?? sentence, context: call,
            underlying: underlying)
    }
}

/// A result that cannot be encoded, as opposed to an error that the method itself throws.
struct ResultFailure: Error {
    let underlying: any Error
}

/// A `ConnectionError` that the method itself threw, usually from another connection, as opposed to an error of this call.
struct MethodFailure: Error {
    let underlying: ConnectionError

    /// Wraps a `ConnectionError` that a method threw; returns other errors as they are.
    static func from(_ error: any Error) -> any Error {
        (error as? ConnectionError).map { MethodFailure(underlying: $0) } ?? error
    }
}

private func encodeResult<Value>(_ value: Value, _ codecs: MessageCodecs, _ encoder: Unmanaged<ObjectEncoder>?) throws {
    do {
        try encoder?._withUnsafeGuaranteedRef { try $0.encodeTop(value, codecs.writer) }
    } catch {
        throw ResultFailure(underlying: error)
    }
}

/// Decodes the arguments of one call in order.
///
/// Used only inside a message's closure, which keeps the decoder and the codecs alive, so it does not retain them.
private struct Arguments {
    private let decoder: Unmanaged<ObjectDecoder>
    private let codecs: Unmanaged<MessageCodecs>
    private var position = 0

    init(_ decoder: ObjectDecoder, _ codecs: MessageCodecs) {
        self.decoder = Unmanaged.passUnretained(decoder)
        self.codecs = Unmanaged.passUnretained(codecs)
    }

    /// Called once for each argument type, in the order of the readers.
    mutating func next<Value>(_ type: Value.Type) throws -> Value {
        let reader = codecs._withUnsafeGuaranteedRef { $0.reader(position) }
        position += 1
        do {
            return try decoder._withUnsafeGuaranteedRef { try $0.decodeTop(type, reader) }
        } catch {
            throw ArgumentFailure(underlying: error, position: position)
        }
    }
}

/// Like `Arguments`, but for an `async` method, which does not hold the decoder while it runs.
struct ServingArguments {
    private let call: any AsyncCall
    private let codecs: MessageCodecs
    private var position = 0

    init(_ call: any AsyncCall, _ codecs: MessageCodecs) {
        self.call = call
        self.codecs = codecs
    }

    /// Decodes the next argument.
    ///
    /// Nothing else refers to it, so it can be sent to an actor.
    mutating func next<Value>(_ type: Value.Type) throws -> sending Value {
        position += 1
        do {
            // The decoder keeps no reference to the objects it made; only the arguments reach them.
            nonisolated(unsafe) let value = try call.argument(
                type, codecs.reader(position - 1), isLast: position == codecs.argumentCount)
            return value
        } catch {
            throw error as? ArgumentFailure ?? ArgumentFailure(underlying: error, position: position)
        }
    }
}
