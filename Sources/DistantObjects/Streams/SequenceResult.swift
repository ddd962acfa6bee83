/// Makes streams of what methods return.
enum SequenceResult {
    static func stream<Elements: AsyncSequence & Sendable>(_ elements: Elements) -> DistantStream<Elements.Element>
    where Elements.Element: Codable & Sendable {
        DistantStream(elements)
    }
}

// Where the signature says `DistantStream`, a method may return any sequence.
//
// These are disfavoured because a `DistantStream` is a sequence, too.
extension Message {
    /// A synchronous method that answers with a sequence, which is sent as a stream.
    @_disfavoredOverload
    public init<
        I: Interface, Elements: AsyncSequence & Sendable, each Argument: Codable & SendableMetatype
    >(
        _ path: KeyPath<I, Signature<DistantStream<Elements.Element>, repeat each Argument>>,
        _ method: @escaping @Sendable (Target) -> (repeat each Argument) throws -> Elements
    ) where Elements.Element: Codable & Sendable {
        self.init(
            nameOfMessage(path),
            uncurried: { (target: Target, arguments: repeat each Argument) throws -> DistantStream<Elements.Element> in
                SequenceResult.stream(try method(target)(repeat each arguments))
            })
    }

    /// An `async` method that answers with a sequence, which is sent as a stream.
    @_disfavoredOverload
    public init<
        I: Interface, Elements: AsyncSequence & Sendable, each Argument: Codable & SendableMetatype
    >(
        _ path: KeyPath<I, Signature<DistantStream<Elements.Element>, repeat each Argument>>,
        _ method: @escaping @Sendable (Target) -> @concurrent (repeat sending each Argument) async throws -> Elements
    ) where Elements.Element: Codable & Sendable {
        self.init(nameOfMessage(path), asynchronous: method) { SequenceResult.stream($0) }
    }

    /// A synchronous method of a `@MainActor` class that answers with a sequence, which is sent as a stream.
    @_disfavoredOverload
    public init<
        I: Interface, Elements: AsyncSequence & Sendable, each Argument: Codable & SendableMetatype
    >(
        _ path: KeyPath<I, Signature<DistantStream<Elements.Element>, repeat each Argument>>,
        _ method: @escaping @Sendable (Target) -> @MainActor (repeat each Argument) throws -> Elements
    ) where Elements.Element: Codable & Sendable {
        self.init(nameOfMessage(path), onMainActor: method) { SequenceResult.stream($0) }
    }
}

extension Message {
    /// Not for use: the compiler answers it with what differs.
    @available(
        *, unavailable,
        message: "the signature says a stream, the method returns an array; return `DistantStream(array)`"
    )
    @_disfavoredOverload
    public init<I: Interface, Element, each Argument>(
        _ path: KeyPath<I, Signature<DistantStream<Element>, repeat each Argument>>,
        _ method: @escaping @Sendable (Target) -> (repeat each Argument) throws -> [Element]
    ) {
        fatalError("the compiler refuses each use")
    }
}
