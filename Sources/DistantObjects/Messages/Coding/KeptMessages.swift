import Synchronization

/// The memory of messages that views of one connection keep.
///
/// It is independent of the window for large messages: credit for a message is given back when the message is decoded,
/// so that views that are kept cannot block the connection. This count bounds them instead.
final class KeptMessages: Sendable {
    private let limit: Int
    private let bytes = Atomic<Int>(0)

    /// - Parameter limit: The most bytes kept, unless a single message is larger.
    init(limit: Int) { self.limit = limit }

    /// Enters a message.
    ///
    /// - Parameter count: Its size in bytes.
    /// - Returns: An object that the caller holds until the message is freed.
    /// - Throws: `ConnectionError.overloaded` if too much is kept already.
    func keep(_ count: Int) throws -> AnyObject {
        var known = bytes.load(ordering: .relaxed)
        while true {
            guard known == 0 || count <= limit - known else {
                throw ConnectionError(
                    .overloaded,
                    "views keep \(known) bytes of the connection's messages; Connection.Limits.viewedBytes bounds it")
            }
            let (exchanged, original) = bytes.compareExchange(
                expected: known, desired: known + count, ordering: .relaxed)
            if exchanged { return Receipt(count, of: self) }
            known = original
        }
    }

    private final class Receipt: Sendable {
        private let count: Int
        private let messages: KeptMessages

        init(_ count: Int, of messages: KeptMessages) {
            self.count = count
            self.messages = messages
        }

        deinit { messages.bytes.subtract(count, ordering: .relaxed) }
    }
}
