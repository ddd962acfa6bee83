public import KeyedArchive

/// Bounds on what a peer can make this process hold, each checked before memory is taken.
public struct ConnectionLimits: Sendable, Equatable {
    /// Calls of the peer that may wait to be started, 1,024: enough to keep a pipe full, small enough to be nothing.
    public var queuedCalls = 1_024
    /// Messages of the peer that may run at one time, 1,024; above it calls are refused as overloaded, not delayed.
    ///
    /// As many one-way messages may run beside them; further ones wait at their sender.
    public var runningCalls = 1_024
    /// References to the peer's objects that are held at one time, 65,536.
    public var references = 65_536
    /// Objects of this process that the peer may refer to at one time, 65,536, one of which is the connection's own.
    ///
    /// A message that would give it more is not sent.
    public var exports = 65_536
    /// Connections of one listener that are open at one time, 10,000, those included that nobody has taken from it.
    ///
    /// Above it processes that connect wait, in the kernel, until one has ended.
    public var connections = 10_000
    /// Connections of one listener that one peer has open at one time, 1,000.
    ///
    /// A peer is a process of this user, or all processes of another user, who could get around this by forking. Further
    /// ones are refused (`peerRefused`), so that one process cannot keep all others out. A connection counts from when it
    /// is accepted until nothing of it is left.
    public var connectionsOfPeer = 1_000
    /// Bytes of one message, 256 MiB; large ones come in fragments.
    ///
    /// Never more than `archive.bytes`, what the archive inside may have: for larger ones raise both, on both sides.
    public var message = 256 << 20
    /// Bytes of answers that wait to be written because the peer does not read, 16 MiB.
    ///
    /// While there are more, no further call that wants an answer is started; it goes on at half of that. The results of
    /// calls that run already are added, up to four times as much and one message; then a result larger than 1 KiB is
    /// thrown away, and its caller told so (`overloaded`).
    public var unreadAnswers = 16 << 20
    /// For how long calls may wait for that while the peer takes nothing at all, 10 seconds.
    ///
    /// Then those that wait are refused without having been run (`overloaded`): their callers may be what keeps the
    /// peer from reading.
    public var answerPatience = Duration.seconds(10)
    /// Bounds on the archive inside a message.
    public var archive = ArchiveLimits()

    /// The defaults.
    public init() {}

    /// Brings every bound into the range the protocol can work with.
    mutating func clamp() {
        queuedCalls = min(max(1, queuedCalls), 1 << 20)
        runningCalls = min(max(1, runningCalls), 1 << 20)
        references = min(max(1, references), Int(UInt32.max))
        exports = min(max(2, exports), Int(UInt32.max))
        connections = max(1, connections)
        connectionsOfPeer = max(1, connectionsOfPeer)
        message = max(Int(ProtocolLimits.smallestMessage), min(message, archive.bytes, 1 << 40))
        unreadAnswers = min(max(1_024, unreadAnswers), 1 << 40)
        answerPatience = max(.milliseconds(1), answerPatience)
    }
}
