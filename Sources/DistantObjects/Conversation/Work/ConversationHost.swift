import PortTransport

/// What `Conversation` needs from outside: the clock, the channel, and proxies for the peer's objects.
///
/// The conversation calls its host only with the lock held, and only if the answer decides a transition. In programs the host is
/// `Connection`; the conversation's tests have one without sockets, threads or a clock.
protocol ConversationHost: ReferenceHost, MemoryHost, AnswerMeter {
    /// Waits for the answer to a call.
    associatedtype Waiter
    /// Waits until a one-way message has been written.
    associatedtype RoomWaiter
    /// A running call of the peer, which can be cancelled.
    associatedtype RunningCall

    /// Makes the object that stands for a stream of the peer in a message's table of references.
    ///
    /// When the object is freed, this side stops reading the stream.
    func makeStreamReader(_ inbox: StreamInbox) -> AnyObject

    /// Whether the calling code serves a call of the peer.
    ///
    /// The conversation asks only if the message of that code cannot be sent at once.
    var isServing: Bool { get }
    /// Whether so many whole frames are unsent that further messages have to wait.
    var isQueueFull: Bool { get }
    /// Whether a large message of this size may be enqueued. If not, the channel notifies the host once the message may
    /// be enqueued.
    func hasRoom(forLargeMessage byteCount: Int) -> Bool
    /// Whether a frame was written completely.
    func isWritten(_ number: UInt64) -> Bool
    /// Counts bytes of large messages that the peer has consumed.
    func creditLargeMessages(_ byteCount: UInt64) -> MessageCredit
}

/// Knows how far the channel has written answers.
protocol AnswerMeter {
    /// Bytes of answers that are unsent.
    var unsentAnswers: Int { get }
    /// Bytes of answers ever written.
    var writtenAnswers: UInt64 { get }
}
