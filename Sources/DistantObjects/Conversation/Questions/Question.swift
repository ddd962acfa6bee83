import PortTransport

/// A call of this side that is not answered yet.
struct Question<Waiter> {
    // The order of the properties leaves few gaps.
    var waiter: Waiter?
    var phase: QuestionPhase
    /// Whether the opener of a fragmented `Return` has come.
    var isArriving = false
    /// Whether the answer is wanted only as the target or an argument of later messages.
    var promise = Promise.no
    /// Counts the uses of the slot, so that a late cancellation of an earlier use is recognised.
    var serial: UInt32
    var timer: TimerToken?
    /// The question's number in frames, once the call is written; in a free slot, the next free slot.
    var wire: UInt32 = 0
    /// The frame number of the call's opener, once the call is written.
    var number: UInt64
    /// The scope that cancels the question, and that lives until the question is answered or given up.
    var scope: ObjectIdentifier?

    enum Promise: UInt8 {
        case no
        case wanted
        /// Nobody wants the promise any more, but its call is not written yet.
        case unwanted
    }

    /// Frees the slot for another use.
    ///
    /// The function works in place, because copying a question is expensive.
    ///
    /// - Parameter slot: The slot that was freed last, to which this one refers as the next free slot.
    /// - Returns: The waiter, the timer of the deadline, the question number if the call was written, and whether it
    ///   was a promise.
    @inline(__always)
    mutating func end(nextFree slot: UInt32) -> (waiter: Waiter?, timer: TimerToken?, wire: UInt32?, wasPromise: Bool) {
        let wasWritten = phase == .sent || phase == .abandoned || phase == .answered
        let wasPromise = promise != .no
        phase = .free
        isArriving = false
        promise = .no
        serial &+= 1
        let number = wasWritten ? wire : nil
        wire = slot
        return (waiter.take(), timer.take(), number, wasPromise)
    }
}

enum QuestionPhase: UInt8 {
    case free
    /// Reserved, but not written.
    case reserved
    /// Given up before it was written.
    case withdrawn
    /// Written; a waiter waits for the answer.
    case sent
    /// Written, then given up; only the `Return` is still to come.
    case abandoned
    /// A promise whose `Return` has come; the slot is kept until the `Drop` is written.
    case answered
}
