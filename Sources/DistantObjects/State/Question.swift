import PortTransport

/// A call that was given a number here and has not had its `Return`.
struct Question {
    enum Phase {
        case free
        /// Given out, not committed.
        case reserved
        /// Cancelled before it was committed.
        case withdrawn
        /// Committed; somebody waits.
        case sent
        /// Committed and given up; only the `Return` is still to come.
        case abandoned
    }

    var phase: Phase
    /// Tells uses of one slot apart, for cancellations that come late.
    var serial: UInt32
    var waiter: Waiter?
    /// The number of its opener, once committed.
    var number: UInt64
    /// What the frames call it, once committed.
    var wire: UInt32 = 0
    var timer: TimerToken?
    /// What cancels it, to be compared: it lives until the question is answered or given up.
    var scope: Unmanaged<CallScope>?
    /// The opener of its `Return` has come, the rest is on the way.
    var isArriving = false
}
