public import KeyedArchive

/// A sequence of values that travels over a connection while it is made.
///
/// A message takes one as argument or returns one, also within structures and arrays. The process that reads it gets the
/// elements in order, and only as fast as it takes them: the other one waits meanwhile.
///
/// ```swift
/// func changes() -> DistantStream<Change> { DistantStream(log.changes) }       // an AsyncSequence
///
/// let changes: DistantStream<Change> = try await directory.changes()
/// for try await change in changes { show(change) }
/// ```
///
/// The sequence starts with the first iteration. A stream is read once: a second iterator throws
/// `ConnectionError.streamUsed`. It outlives the call that brought it, and ends with its connection.
///
/// If its sequence throws, the error arrives after the elements before it, decoded as the errors of calls. If the reader
/// stops, because its task is cancelled or its iterator is gone, the task that reads the sequence is cancelled. A stream that
/// is never iterated is given up when the last reference to it is gone, and its sequence is released.
///
/// A stream that was not iterated may be sent back to the process it came from, which gets the sequence itself, or over
/// another connection, which reads it through this process.
public struct DistantStream<Element: Codable & Sendable>: AsyncSequence, Sendable {
    var content: StreamContent<Element, NoFinalValue>

    /// A stream of the elements of a sequence.
    ///
    /// - Parameters:
    ///   - sequence: Iterated once, in a task of its own that prefers the connection's event loop, if the stream is sent and
    ///     read.
    ///   - readAhead: The most elements that may be sent before the reader asks for them, besides the one that it works on:
    ///     0 or 1 for work that several readers share. `nil` leaves it to the reader; see `readingAhead(_:)`.
    /// - Complexity: O(1); the sequence is not read here.
    public init<Elements: AsyncSequence & Sendable>(
        _ sequence: Elements, readAhead: Int? = nil
    ) where Elements.Element == Element {
        content = StreamContent(readAhead: readAhead) { writer in
            for try await element in sequence { try await writer.send(element) }
            return NoFinalValue()
        }
    }

    /// A stream of the elements of a sequence that does not wait.
    ///
    /// - Parameters:
    ///   - sequence: Iterated once, if the stream is sent and read.
    ///   - readAhead: The most elements that may be sent before the reader asks for them, besides the one that it works on:
    ///     0 or 1 for work that several readers share. `nil` leaves it to the reader; see `readingAhead(_:)`.
    /// - Complexity: O(1); the sequence is not read here.
    public init<Elements: Sequence & Sendable>(
        _ sequence: Elements, readAhead: Int? = nil
    ) where Elements.Element == Element {
        content = StreamContent(readAhead: readAhead) { writer in
            for element in sequence { try await writer.send(element) }
            return NoFinalValue()
        }
    }

    /// A stream of what the closure sends.
    ///
    /// - Parameters:
    ///   - readAhead: The most elements that may be sent before the reader asks for them, besides the one that it works on:
    ///     0 or 1 for work that several readers share. `nil` leaves it to the reader; see `readingAhead(_:)`.
    ///   - body: Called once if the stream is sent and read. The stream ends when it returns or throws.
    public init(
        readAhead: Int? = nil, _ body: @escaping @concurrent @Sendable (StreamWriter<Element>) async throws -> Void
    ) {
        content = StreamContent(readAhead: readAhead) { writer in
            try await body(writer)
            return NoFinalValue()
        }
    }

    init(_ content: StreamContent<Element, NoFinalValue>) { self.content = content }

    /// The same stream, of which no more than some elements are read ahead.
    ///
    /// ```swift
    /// for try await job in jobs.readingAhead(1) { try await work(on: job) }
    /// ```
    ///
    /// Elements that are read ahead wait in this process, or are on their way to it, while the code in the loop works on the
    /// one before. They cannot go to another reader, and are lost if this process dies. With 0 each element is sent when it is
    /// asked for, so each costs the time to the other process and back. The first one is sent when the iterator is made.
    ///
    /// Without this the stream reads ahead as much as the loop has used up in about a millisecond, at least 15 and at most
    /// 4,095 elements.
    ///
    /// - Parameter count: The most elements that wait, besides the one that the reader works on. Not more than about
    ///   256 KiB wait in any case.
    public func readingAhead(_ count: Int) -> Self {
        var stream = self
        stream.content.readAhead = count
        return stream
    }

    /// The same stream, whose reader waits no longer than this for each element.
    ///
    /// ```swift
    /// for try await change in changes.timeout(.seconds(5)) { show(change) }
    /// ```
    ///
    /// If no element comes in that time, the iterator throws `ConnectionError.deadlineExceeded`. The error's text says whether
    /// the other process still answers a ping, for which it waits up to a second. The stream goes on, and no element is lost:
    /// an iterator that is kept may be asked again. The time counts only while the reader waits.
    ///
    /// - Parameter duration: How long to wait. A blocking iterator has a time-out of its own.
    public func timeout(_ duration: Duration) -> Self {
        var stream = self
        stream.content.timeout = duration
        return stream
    }

    /// Begins to read the stream.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(content.makeReader()) }

    /// Reads a stream.
    ///
    /// When the last copy of it is gone before the end, the stream is stopped.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let reader: StreamReader<Element>

        init(_ reader: StreamReader<Element>) { self.reader = reader }

        /// The next element; nil at the end.
        ///
        /// - Throws: What the sequence throws, as a call does; `ConnectionError.streamUsed` if the stream was read or sent
        ///   before, `.outcomeUnknown` if the connection has ended, `.closed` if one of the two closes it, `.wrongResult` if
        ///   the element has another type; `.deadlineExceeded` if there is a `timeout(_:)` and no element came in that time;
        ///   `CancellationError`, which stops the stream.
        public mutating func next() async throws -> Element? {
            if let element = try reader.arrived() { return element }
            return try await reader.next()
        }

        /// The next element, without a change of the actor.
        ///
        /// - Throws: As `next()`.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
            if let element = try reader.arrived() { return element }
            return try await reader.next()
        }
    }
}

extension DistantStream {
    /// A stream that ends with a value: `DistantStream<Row>.WithFinal<Summary>`.
    ///
    /// ```swift
    /// DistantStream<Row>.WithFinal<Summary> { writer in
    ///     for row in rows { try await writer.send(row) }
    ///     return Summary(rows.count)
    /// }
    ///
    /// for try await row in result { show(row) }
    /// let summary = try await result.final
    /// ```
    public struct WithFinal<Final: Codable & Sendable>: AsyncSequence, Sendable {
        var content: StreamContent<Element, Final>

        /// A stream of what the closure sends, which ends with the value it returns.
        ///
        /// - Parameters:
        ///   - readAhead: As for a stream without a final value.
        ///   - body: As for a stream without a final value.
        public init(
            readAhead: Int? = nil,
            _ body: @escaping @concurrent @Sendable (StreamWriter<Element>) async throws -> Final
        ) {
            content = StreamContent(readAhead: readAhead, body)
        }

        init(_ content: StreamContent<Element, Final>) { self.content = content }

        /// The same stream, of which no more than some elements are read ahead; as for a stream without a final value.
        public func readingAhead(_ count: Int) -> Self {
            var stream = self
            stream.content.readAhead = count
            return stream
        }

        /// The same stream, whose reader waits no longer than this for each element; as for a stream without a final value.
        ///
        /// `final` has no limit, so it waits for a reader that has stopped at its time-out and may go on.
        public func timeout(_ duration: Duration) -> Self {
            var stream = self
            stream.content.timeout = duration
            return stream
        }

        /// Begins to read the stream.
        public func makeAsyncIterator() -> DistantStream.AsyncIterator { AsyncIterator(content.makeReader()) }

        /// The value that follows the last element.
        ///
        /// Waits until the stream was read to its end. If nothing has begun to read it, this does, and drops the elements.
        ///
        /// - Throws: What ended the stream instead, as `next()`; `ConnectionError.cancelled` if it was not read to its end.
        public var final: Final {
            get async throws { try await content.final() }
        }
    }
}

// MARK: Coding

extension DistantStream: _ByReferenceCodable {
    /// What is entered into the message's table of references.
    ///
    /// - Throws: `ConnectionError.notAvailable` if the other process does not know streams.
    @_documentation(visibility: internal)
    public func _external(for owner: AnyObject?) throws -> _ExternalValue {
        try content._external(for: owner, as: Self.self)
    }

    /// The stream that the message's table names.
    ///
    /// - Throws: `ConnectionError.wrongArgument` if it is no stream.
    @_documentation(visibility: internal)
    public static func _value(ofExternal object: AnyObject, owner: AnyObject?) throws -> Self {
        Self(try StreamContent(ofExternal: object, as: Self.self))
    }
}

extension DistantStream.WithFinal: _ByReferenceCodable {
    /// What is entered into the message's table of references.
    ///
    /// - Throws: `ConnectionError.notAvailable` if the other process does not know streams.
    @_documentation(visibility: internal)
    public func _external(for owner: AnyObject?) throws -> _ExternalValue {
        try content._external(for: owner, as: Self.self)
    }

    /// The stream that the message's table names.
    ///
    /// - Throws: `ConnectionError.wrongArgument` if it is no stream.
    @_documentation(visibility: internal)
    public static func _value(ofExternal object: AnyObject, owner: AnyObject?) throws -> Self {
        Self(try StreamContent(ofExternal: object, as: Self.self))
    }
}

extension DistantStream: DescribedType {
    static var typeDescription: TypeDescription { TypeDescription(.stream, "\(TypeDescription.of(Element.self))") }
}

extension DistantStream.WithFinal: DescribedType {
    static var typeDescription: TypeDescription {
        TypeDescription(.stream, "\(TypeDescription.of(Element.self)); \(TypeDescription.of(Final.self))")
    }
}

extension DistantStream.AsyncIterator {
    /// Not for use: the compiler answers it with the way to limit a wait.
    ///
    /// - Throws: Nothing, since the compiler refuses each use.
    @available(
        *, unavailable, message: "the stream has the time-out: `for try await change in changes.timeout(.seconds(5))`"
    )
    public mutating func next(timeout: Duration) async throws -> Element? {
        fatalError("the compiler refuses each use")
    }

    /// Not for use: the compiler answers it with the way to limit a wait.
    ///
    /// - Throws: Nothing, since the compiler refuses each use.
    @available(
        *, unavailable, message: "the stream has the time-out: `for try await change in changes.timeout(.seconds(5))`"
    )
    public mutating func next(deadline: Duration) async throws -> Element? {
        fatalError("the compiler refuses each use")
    }
}
