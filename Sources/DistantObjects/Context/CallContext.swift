import PortTransport
import Synchronization

/// What a call passes on to the calls that are made while it is served: its deadline, and metadata such as trace ids.
///
/// ```swift
/// try await CallContext.with(metadata: ["trace": id]) {
///     try await directory.add(person)
/// }
/// ```
///
/// In the process that serves `add`, `CallContext.current` has the metadata, and each call that the method makes passes it
/// on, to any process. The same holds for tasks that the method starts with `async let`, in a group, or with `Task { }`. A
/// call made while one with a deadline is served ends with that deadline at the latest. A one-way message carries no deadline,
/// but waits for room until then at most.
///
/// A peer of a version without metadata does not get it; calls to it work all the same.
public struct CallContext: Sendable {
    /// The metadata; empty if there is none.
    public let metadata: [String: String]
    /// The instant of the deadline, in nanoseconds of the monotonic clock.
    let deadline: UInt64?
    /// The metadata as it is sent.
    let encoded: [UInt8]

    @TaskLocal private static var local: CallContext?
    /// Whether this process has ever had a context.
    ///
    /// Reading a task-local value costs about 5 % of a one-way message, and many programs have none.
    private static let isUsed = Atomic<Bool>(false)

    /// The context of the call that the calling code serves, if there is any.
    @inline(__always)
    static var inherited: CallContext? { isUsed.load(ordering: .relaxed) ? local : nil }

    /// Runs code that serves a call.
    static func serving<Result>(_ context: CallContext, _ body: () async throws -> Result) async rethrows -> Result {
        isUsed.store(true, ordering: .relaxed)
        return try await $local.withValue(context, operation: body)
    }

    /// Runs synchronous code that serves a call.
    static func serving<Result>(_ context: CallContext, _ body: () throws -> Result) rethrows -> Result {
        isUsed.store(true, ordering: .relaxed)
        return try $local.withValue(context, operation: body)
    }

    /// The context of the call that the calling code serves, with the metadata that was added since; empty elsewhere.
    public static var current: CallContext { inherited ?? CallContext(serving: [:], until: nil) }

    /// The time left until the deadline of the call that is served; nil if it has none.
    ///
    /// It is zero once the deadline has passed.
    public var timeLeft: Duration? {
        deadline.map { deadline in
            let now = monotonicNow()
            return deadline > now ? .nanoseconds(Int64(clamping: deadline - now)) : .zero
        }
    }

    /// Runs the body with further metadata, which its calls pass on.
    ///
    /// - Parameters:
    ///   - metadata: Added to the current metadata; a value takes the place of one with the same key.
    ///   - body: Its calls, one-way messages and promises carry the metadata.
    /// - Returns: What the body returns.
    /// - Throws: `ConnectionError.tooLarge` if all keys and values have more than 4,096 bytes in UTF-8, counting a byte or two for the
    ///   length of each; what the body throws.
    public static func with<Result>(
        metadata: [String: String], _ body: () async throws -> Result
    ) async throws -> Result {
        try await serving(current.adding(metadata), body)
    }

    /// Runs the body with further metadata, as the `async` form does, in synchronous code.
    ///
    /// - Parameters:
    ///   - metadata: As in the `async` form.
    ///   - body: As in the `async` form.
    /// - Returns: What the body returns.
    /// - Throws: As the `async` form.
    public static func with<Result>(metadata: [String: String], _ body: () throws -> Result) throws -> Result {
        try serving(current.adding(metadata), body)
    }

    /// The context of a call that was received.
    init(serving metadata: [String: String], until deadline: UInt64?) {
        self.metadata = metadata
        self.deadline = deadline
        encoded = Self.encode(metadata)
    }

    private func adding(_ more: [String: String]) throws -> CallContext {
        let sum = CallContext(serving: metadata.merging(more) { _, new in new }, until: deadline)
        guard sum.encoded.count <= ProtocolLimits.metadataBytes else {
            throw ConnectionError(
                .tooLarge,
                "the metadata of a call has \(sum.encoded.count) bytes; more than \(ProtocolLimits.metadataBytes) are not sent"
            )
        }
        return sum
    }

    private static func encode(_ metadata: [String: String]) -> [UInt8] {
        guard !metadata.isEmpty else { return [] }
        var buffer = PrefixBuffer()
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            buffer.append(key)
            buffer.append(value)
        }
        return Array(buffer.bytes)
    }
}
