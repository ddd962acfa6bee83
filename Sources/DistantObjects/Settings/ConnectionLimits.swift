public import KeyedArchive
import PortTransport

/// Limits on the resources that a peer can make this process use.
///
/// Each is checked before memory is allocated.
public struct ConnectionLimits: Sendable, Equatable {
    /// Calls of the peer that may wait to be started.
    ///
    /// Default: 1,024, which keeps a connection busy at little cost.
    public var queuedCalls = 1_024
    /// Calls of the peer that may run at a time.
    ///
    /// Default: 1,024. Further calls are refused as overloaded, not delayed. The same number of one-way messages may
    /// run besides. Further ones wait at their sender.
    public var runningCalls = 1_024
    /// Objects of the peer that this process may refer to at a time.
    ///
    /// Default: 65,536.
    public var references = 65_536
    /// Objects of this process that the peer may refer to at a time, with one of the connection's own.
    ///
    /// Default: 65,536. A message that would exceed the limit is not sent (`overloaded`).
    public var exports = 65_536
    /// Streams of this process that the peer may have open at a time.
    ///
    /// Default: 1,024, which is also the most that the protocol allows. A message that would exceed the limit is not sent.
    public var streams = 1_024
    /// Connections of one listener that may be open at a time, with those not yet taken from it.
    ///
    /// Default: 10,000. It is never more than the descriptors that this process may have (`ulimit -n`), without the last
    /// ones, when the listener is made. Above the limit, processes that connect wait in the kernel until a connection has
    /// ended.
    public var connections = 10_000
    /// Connections of one listener that one peer may have open at a time.
    ///
    /// Default: `nil`, which stands for half of `connections`, and for 1,000 if that is less. So with `ulimit -n 1024`, of
    /// which the last 16 stay free, it is 504. A peer is a process of this user, or all processes of another user, which
    /// could otherwise evade the limit by forking. Further connections are refused (`peerRefused`), so that one process
    /// cannot keep all others out. A connection counts from the moment it is accepted until it is torn down.
    ///
    /// A peer may use half of the descriptors over all listeners of this process, including two for each connection in
    /// shared memory, or as many as this limit.
    public var connectionsOfPeer: Int?
    /// Bytes of one message.
    ///
    /// Default: 256 MiB. Large messages are sent in fragments. It is never more than `archive.bytes`, the limit of the
    /// archive inside. For larger messages raise both, on both sides.
    public var message = 256 << 20
    /// Bytes of answers that may wait because the peer does not read.
    ///
    /// Default: 16 MiB. Above the limit no further call is started; calls start again at half of it. The results of
    /// running calls are still queued, up to four times the limit plus one message. After that, a result larger than 1
    /// KiB is dropped, and its caller gets `overloaded`.
    public var unreadAnswers = 16 << 20
    /// Bytes of the connection's messages that views may keep in memory at a time.
    ///
    /// Default: 64 MiB. A message counts in full from when a `GraphView` of it is decoded until the last of its views is
    /// freed. Above the limit a call with such an argument is refused (`overloaded`), and a caller that awaits such a result
    /// gets that error. One message may always be kept, whatever its size.
    public var viewedBytes = 64 << 20
    /// Bytes of the peer's messages that wait to be started or read.
    ///
    /// Default: 64 MiB. Small messages count with their tables of references and shapes. Above the limit a call is refused
    /// (`overloaded`) without having been run. One-way messages are never refused: if one comes when there is no room, calls
    /// that wait are refused instead, the latest ones first, and the peer may send fewer one-way messages until there is room
    /// again. One message may always wait, whatever its size.
    ///
    /// Large messages have a window of their own and count only if their room in it was given back. Messages that have come and
    /// are not started, and items that are not read yet, give it back if another large message needs it: what they wait for may
    /// depend on it. Above the limit they keep their room, and the others wait. If nothing moves for `answerPatience` then, a
    /// call to a result that is not there yet is refused (`overloaded`), or a stream that is not read ends with that error.
    ///
    /// Calls that this side sends back to the peer, because it sent a promise for an object of its own, may take as much
    /// again.
    public var waitingBytes = 64 << 20
    /// Bytes of `SharedBytes` that lie in memory which both processes have mapped, in each direction.
    ///
    /// Default: a sixteenth of the machine's memory, but at least 64 MiB and at most 256 MiB. This side makes as much for what it
    /// sends, and takes up to twice as much of the peer, whose limit may be another one. Bytes beyond the limit are sent in
    /// the message. All connections of the process together make and take four times the highest limit of one of them.
    /// Peers with a version of this library that knows no larger ones get at most 64 MiB. For bytes above `message` raise that
    /// limit as well.
    public var sharedBytes = RegionMemory.Purpose.mostOfBlobs
    /// How long calls may wait for the peer to read its answers while it reads nothing.
    ///
    /// Default: 10 seconds. After that, waiting calls are refused without having been run (`overloaded`). The peer may
    /// read nothing because it waits for these very calls.
    public var answerPatience = Duration.seconds(10)
    /// Limits of the archive inside a message.
    public var archive = ArchiveLimits()

    /// Makes limits with the defaults.
    public init() {}

    /// The most connections of one peer, unless the program says otherwise.
    private static let mostOfPeer = 1_000

    /// Sets the limits of a listener that depend on how many descriptors there are.
    mutating func fit(descriptors: Int) {
        connections = max(1, min(connections, descriptors))
        connectionsOfPeer = connectionsOfPeer ?? min(Self.mostOfPeer, max(1, connections / 2))
    }

    /// Brings every limit into the range that the protocol allows.
    mutating func clamp() {
        queuedCalls = min(max(1, queuedCalls), 1 << 20)
        runningCalls = min(max(1, runningCalls), 1 << 20)
        references = min(max(1, references), Int(UInt32.max))
        exports = min(max(2, exports), Int(UInt32.max))
        streams = min(max(0, streams), Int(ProtocolLimits.openStreams))
        connections = max(1, connections)
        connectionsOfPeer = connectionsOfPeer.map { max(1, $0) }
        message = max(Int(ProtocolLimits.smallestMessage), min(message, archive.bytes, 1 << 40))
        unreadAnswers = min(max(1_024, unreadAnswers), 1 << 40)
        waitingBytes = min(max(0, waitingBytes), 1 << 40)
        sharedBytes = min(max(0, sharedBytes), 1 << 40)
        viewedBytes = min(max(0, viewedBytes), 1 << 40)
        answerPatience = max(.milliseconds(1), answerPatience)
    }
}
