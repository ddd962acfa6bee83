import KeyedArchive

/// A message whose answer is the answer of the method that returns it.
///
/// ```swift
/// func find(_ name: String) -> TailCall<Person> { archive.find.tailCall(name) }
/// ```
///
/// The method ends at once. The message is sent then, and its result or error is passed on as it is, without being decoded.
/// If the caller cancels, the message is cancelled as well. If the message is refused, or its outcome is not known, the caller
/// gets a ``RemoteError`` with the code, as for each ``ConnectionError`` that a method throws.
///
/// A result with objects by reference is passed on only to the process that they came from; another caller gets
/// ``ConnectionError/Code/foreignReference``. A result with streams or shared bytes is decoded and sent anew: the stream is
/// read through this process, and the bytes are copied.
///
/// A value that no method returns sends nothing.
public struct TailCall<Result>: Sendable {
    /// Sends the message, and writes its answer into another message.
    let send: @Sendable (OutboundMessage, ResultCopier?) async throws -> Void

    @usableFromInline
    init(_ send: @escaping @Sendable (OutboundMessage, ResultCopier?) async throws -> Void) { self.send = send }
}

// Methods that answer with the answer of another message.
extension Message {
    /// A method that returns the message whose answer is its own.
    public init<each Argument: Codable & SendableMetatype, Result: Codable & SendableMetatype>(
        _ name: String, _ method: @escaping @Sendable (Target) -> (repeat each Argument) throws -> TailCall<Result>
    ) {
        let copier = ResultCopier(Result.self)
        self.init(
            name, result: TypeDescription.of(Result.self),
            answeredBy: { (target: Target, arguments: repeat each Argument) in
                let tail = try method(target)(repeat each arguments)
                return { try await tail.send($0, copier) }
            })
    }

    /// A method that returns the message without a result whose answer is its own.
    public init<each Argument: Codable & SendableMetatype>(
        _ name: String, _ method: @escaping @Sendable (Target) -> (repeat each Argument) throws -> TailCall<Void>
    ) {
        self.init(
            name, result: TypeDescription.of(Void.self),
            answeredBy: { (target: Target, arguments: repeat each Argument) in
                let tail = try method(target)(repeat each arguments)
                return { try await tail.send($0, nil) }
            })
    }

    /// A method that answers a message of an interface with the answer of another message.
    public init<I: Interface, each Argument: Codable & SendableMetatype, Result: Codable & SendableMetatype>(
        _ path: KeyPath<I, Signature<Result, repeat each Argument>>,
        _ method: @escaping @Sendable (Target) -> (repeat each Argument) throws -> TailCall<Result>
    ) {
        self.init(nameOfMessage(path), method)
    }

    /// A method that answers a message of an interface, which has no result, with the answer of another message.
    public init<I: Interface, each Argument: Codable & SendableMetatype>(
        _ path: KeyPath<I, Signature<Void, repeat each Argument>>,
        _ method: @escaping @Sendable (Target) -> (repeat each Argument) throws -> TailCall<Void>
    ) {
        self.init(nameOfMessage(path), method)
    }
}
