/// What `Conversation` needs from outside: the clock, the channel, and proxies for the peer's objects.
///
/// The state calls its host only with the lock held, and only if the answer decides a transition. In programs the host is
/// `Connection`; the state's tests have one without sockets, threads or a clock.
protocol ConversationHost: AnyObject, AnswerMeter {
    /// Waits for the answer to a call.
    associatedtype Waiter
    /// Waits until a one-way message has been written.
    associatedtype RoomWaiter
    /// A running call of the peer, which can be cancelled.
    associatedtype RunningCall
    /// A proxy for an object of the peer.
    associatedtype Proxy: AnyObject

    /// The time in nanoseconds, by the clock of deadlines and timers.
    var now: UInt64 { get }
    /// Whether this side sends its `Hello` first.
    var isInitiator: Bool { get }

    /// The root directory, which returns the roots to the peer, and its messages.
    ///
    /// The conversation asks for the directory when the peer first names it.
    var rootDirectory: (object: AnyObject, messages: Unmanaged<ClassMessages>) { get }

    /// Makes a proxy for an object of the peer that has none.
    ///
    /// - Parameter described: The object's class, if the peer describes it.
    func makeProxy(for id: ObjectID, of described: DescribedClass?) -> Proxy
    /// Notes the class of a proxy's object, unless it is known.
    static func describe(_ proxy: Proxy, as described: DescribedClass)
    /// What an object in a table of references is to this connection.
    func entry(of object: AnyObject) -> TableEntry

    /// Makes the object that stands for a stream of the peer in a message's table of references.
    ///
    /// When the object is freed, this side stops reading the stream.
    func makeStreamReader(_ inbox: StreamInbox) -> AnyObject

    /// Makes the list of blobs that this process no longer uses.
    ///
    /// When a blob is added to the list, the list has this host settle the blob; see `Conversation.settleBlobs(_:)`.
    func makeBlobReturns() -> BlobReturns

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
    /// Whether every byte of a frame may have reached the peer.
    func mayBeWritten(_ number: UInt64) -> Bool
    /// Counts bytes of large messages that the peer has consumed.
    func creditLargeMessages(_ byteCount: UInt64) -> MessageCredit

    /// Whether the peer is a process of the same user, so that both may share memory.
    var isPeerTrusted: Bool { get }
    /// Whether the channel has the shared memory that was made for the peer.
    var hasSharedMemory: Bool { get }
}
