/// The memory of the peer's messages that have come and are not started: their tables, and the bodies of those in one frame.
///
/// The bodies of messages in fragments are bounded by the window, and count only once they are laid aside.
struct WaitingMemory {
    /// The bytes of calls, about.
    private(set) var calls = 0
    /// The bytes of one-way messages, about.
    private(set) var oneWays = 0
    /// The number of one-way messages.
    private(set) var oneWayCount = 0
    /// An upper bound of the bytes of messages that are laid aside.
    var laidAside = 0

    var bytes: Int { calls &+ oneWays &+ laidAside }

    /// Counts a message that has come.
    @inline(__always)
    mutating func enter(_ size: Int, isOneWay: Bool) {
        if isOneWay {
            oneWays &+= size
            oneWayCount &+= 1
        } else {
            calls &+= size
        }
    }

    /// Counts a message that is started.
    @inline(__always)
    mutating func leave(_ size: Int, isOneWay: Bool) {
        if isOneWay {
            oneWays &-= size
            oneWayCount &-= 1
        } else {
            calls &-= size
        }
    }
}
