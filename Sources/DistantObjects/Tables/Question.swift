import PortTransport

/// A call that was given a number here and has not had its `Return`.
struct Question<Waiter> {
    var phase: QuestionPhase
    /// Counts the uses of the slot: a cancellation that comes late means an earlier one.
    var serial: UInt32
    var waiter: Waiter?
    /// The number of its opener, once written.
    var number: UInt64
    /// What the frames call it, once written.
    var wire: UInt32 = 0
    var timer: TimerToken?
    /// What cancels it: it lives until the question is answered or given up.
    var scope: ObjectIdentifier?
    /// The opener of its `Return` has come, the rest is on the way.
    var isArriving = false

    /// Frees the slot for another use.
    ///
    /// It works in place because copying a whole question costs more than the rest.
    /// - Returns: Who waited, the timer of its deadline, and the number that was written, if one was.
    @inline(__always)
    mutating func end() -> (waiter: Waiter?, timer: TimerToken?, wire: UInt32?) {
        let wasWritten = phase == .sent || phase == .abandoned
        phase = .free
        isArriving = false
        serial &+= 1
        return (waiter.take(), timer.take(), wasWritten ? wire : nil)
    }
}

enum QuestionPhase: UInt8 {
    case free
    /// Given out, not written.
    case reserved
    /// Given up before it was written.
    case withdrawn
    /// Written; somebody waits.
    case sent
    /// Written and given up; only the `Return` is still to come.
    case abandoned
}
