/// What the state of a connection is told by its surroundings: the clock, the channel, and who stands for the peer's objects.
///
/// The state asks only while its lock is held, and only where the answer decides a transition. `Connection` is the host in
/// programs; tests of the state have one of their own, without sockets, threads or a clock.
protocol PortHost: AnyObject {
    /// Waits for the answer to a call.
    associatedtype Waiter
    /// Waits until a one-way message has found room.
    associatedtype RoomWaiter
    /// A call of the peer that runs and can be cancelled.
    associatedtype RunningCall
    /// Stands for an object of the peer.
    associatedtype Proxy: AnyObject

    /// Nanoseconds of the clock that deadlines and timers go by.
    var now: UInt64 { get }
    /// Whether this side greets first.
    var isInitiator: Bool { get }

    /// A proxy for an object of the peer that has none yet.
    ///
    /// - Parameter described: The object's class, if the peer describes it.
    func makeProxy(for id: ObjectID, of described: DescribedClass?) -> Proxy
    /// The id of the object that a proxy stands for; `nil` if it is no proxy of the peer's.
    static func id(ofProxy object: AnyObject) -> ObjectID?

    /// Whether so many whole frames lie unsent that messages wait.
    var isQueueFull: Bool { get }
    /// Whether a large message of so many bytes may be enqueued; if not, the host is told when it may.
    func hasRoom(forLargeMessage byteCount: Int) -> Bool
    /// Bytes of answers that lie unsent.
    var unsentAnswers: Int { get }
    /// Bytes of answers ever written.
    var writtenAnswers: UInt64 { get }
    /// Whether a frame was written completely.
    func isWritten(_ number: UInt64) -> Bool
    /// Whether the peer may have every byte of a frame.
    func mayBeWritten(_ number: UInt64) -> Bool
    /// Counts bytes of large messages that the peer has consumed.
    func creditLargeMessages(_ byteCount: UInt64) -> BulkCredit

    /// Whether the peer is a process of the same user, so that both may share memory.
    var isPeerTrusted: Bool { get }
    /// Whether the memory that was made for the peer is still there.
    var hasSharedMemory: Bool { get }
}
