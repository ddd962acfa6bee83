import PortTransport

/// The calls of this side that are under way.
///
/// Slots are reused, the last freed one first. A question gets its number on the wire only when it is written: any number of
/// callers may wait for credit, but the peer limits the numbers.
struct QuestionTable<Waiter>: ~Copyable {
    /// Stands for no slot and no number.
    private static var none: UInt32 { .max }

    private(set) var slots = CompactArray<Question<Waiter>>()
    /// The slot of each number on the wire; for a free number, the next free number.
    private var slotOfNumber = CompactArray<UInt32>()
    /// The slot that was freed last.
    ///
    /// The `wire` of a free slot is the next free slot.
    private var freeSlot = Self.none
    private var freeNumber = Self.none
    private(set) var count: UInt32 = 0
    /// The number of promises among the calls under way.
    private(set) var promises: UInt32 = 0

    /// The most numbers on the wire that were ever in use at a time.
    var numbers: Int { slotOfNumber.count }

    /// Reserves a question whose answer is wanted only as the target or an argument of later messages.
    mutating func reservePromise() -> Ticket {
        let ticket = reserve()
        slots[Int(ticket.index)].promise = .wanted
        promises += 1
        return ticket
    }

    mutating func reserve(in scope: ObjectIdentifier? = nil) -> Ticket {
        count += 1
        if freeSlot != Self.none {
            let index = freeSlot
            freeSlot = slots[Int(index)].wire
            slots[Int(index)].phase = .reserved
            slots[Int(index)].scope = scope
            return Ticket(index: index, serial: slots[Int(index)].serial)
        }
        slots.append(Question(waiter: nil, phase: .reserved, serial: 0, timer: nil, number: 0, scope: scope))
        return Ticket(index: UInt32(slots.count - 1), serial: 0)
    }

    /// Whether a ticket's question is under way and belongs to the scope.
    func isOpen(_ ticket: Ticket, in scope: ObjectIdentifier) -> Bool {
        isOpen(ticket) && slots[Int(ticket.index)].scope == scope
    }

    /// Whether a ticket's question is under way.
    func isOpen(_ ticket: Ticket) -> Bool {
        let phase = phase(of: ticket)
        return phase == .reserved || phase == .sent
    }

    /// The phase of a ticket's question; nil if the ticket is for an earlier use of the slot.
    func phase(of ticket: Ticket) -> QuestionPhase? {
        let index = Int(ticket.index)
        guard index < slots.count, slots[index].serial == ticket.serial, slots[index].phase != .free else { return nil }
        return slots[index].phase
    }

    /// Gives a question its number on the wire.
    mutating func assignNumber(to ticket: Ticket) -> UInt32 {
        let wire: UInt32
        if freeNumber != Self.none {
            wire = freeNumber
            freeNumber = slotOfNumber[Int(wire)]
            slotOfNumber[Int(wire)] = ticket.index
        } else {
            wire = UInt32(slotOfNumber.count)
            slotOfNumber.append(ticket.index)
        }
        slots[Int(ticket.index)].wire = wire
        slots[Int(ticket.index)].phase = .sent
        return wire
    }

    /// Notes that a question was written, after `assignNumber(to:)`.
    mutating func wrote(_ ticket: Ticket, number: UInt64, waiter: consuming Waiter) {
        let index = Int(ticket.index)
        slots[index].number = number
        slots[index].waiter = waiter
    }

    /// Sets the timer of the deadline; false if the question is over.
    mutating func setTimer(_ timer: TimerToken, of ticket: Ticket) -> Bool {
        guard phase(of: ticket) != nil else { return false }
        slots[Int(ticket.index)].timer = timer
        return true
    }

    /// Replaces the waiter of a written question.
    ///
    /// - Returns: False if the question is answered or not written, or if its waiter does not match.
    mutating func replaceWaiter(of ticket: Ticket, with waiter: Waiter, if matches: (Waiter) -> Bool) -> Bool {
        let index = Int(ticket.index)
        guard phase(of: ticket) == .sent, let before = slots[index].waiter, matches(before) else { return false }
        slots[index].waiter = waiter
        return true
    }

    /// Gives up a question that is not written.
    ///
    /// The thread that is about to write the question checks for the withdrawal.
    mutating func withdraw(_ ticket: Ticket) { slots[Int(ticket.index)].phase = .withdrawn }

    /// Gives up a question that was written.
    ///
    /// Only its `Return` is still to come.
    mutating func abandon(_ ticket: Ticket) -> (waiter: Waiter, timer: TimerToken?, wire: UInt32, number: UInt64)? {
        let index = Int(ticket.index)
        guard phase(of: ticket) == .sent, let waiter = slots[index].waiter.take() else { return nil }
        slots[index].phase = .abandoned
        return (waiter, slots[index].timer.take(), slots[index].wire, slots[index].number)
    }

    /// Ends a question and frees its slot and number.
    ///
    /// - Returns: The waiter, and the timer of the deadline.
    @discardableResult
    mutating func finish(_ index: UInt32) -> (waiter: Waiter?, timer: TimerToken?) {
        count -= 1
        let ended = slots[Int(index)].end(nextFree: freeSlot)
        freeSlot = index
        if ended.wasPromise { promises -= 1 }
        if let wire = ended.wire {
            slotOfNumber[Int(wire)] = freeNumber
            freeNumber = wire
        }
        return (ended.waiter, ended.timer)
    }

    /// The slot of the question that a `Return` names.
    func answered(_ wire: UInt32) throws(ProtocolViolation) -> UInt32 {
        guard Int(wire) < slotOfNumber.count else {
            throw ProtocolViolation(.unknownName, "a Return names a question that was never asked")
        }
        let index = slotOfNumber[Int(wire)]
        if Int(index) < slots.count {
            let phase = slots[Int(index)].phase
            if phase == .sent || phase == .abandoned, slots[Int(index)].wire == wire { return index }
        }
        throw ProtocolViolation(.outOfStep, "a Return names a question that is not open")
    }

    func isArriving(_ index: UInt32) -> Bool { slots[Int(index)].isArriving }

    mutating func setArriving(_ index: UInt32) { slots[Int(index)].isArriving = true }

    /// Whether the answer to a written call is awaited; promises do not count.
    var isAwaited: Bool { slots.indices.contains { slots[$0].phase == .sent && slots[$0].promise == .no } }

    // MARK: Promises

    func isPromise(_ index: UInt32) -> Bool { slots[Int(index)].promise != .no }

    /// Whether the `Drop` of a written promise is written.
    func isDropped(_ index: UInt32) -> Bool { slots[Int(index)].phase == .abandoned }

    /// The number on the wire of the answer that a message names.
    func number(of promise: Ticket) -> UInt32 { slots[Int(promise.index)].wire }

    /// Notes that the `Return` of a promise has come, and frees the promise if nobody wants it any more.
    ///
    /// - Returns: False if the question is no promise.
    @inline(__always)
    mutating func promiseAnswered(_ index: UInt32) -> Bool { promises > 0 && endPromise(index) }

    @inline(never)
    private mutating func endPromise(_ index: UInt32) -> Bool {
        guard slots[Int(index)].promise != .no else { return false }
        if slots[Int(index)].phase == .abandoned {
            finish(index)
        } else {
            slots[Int(index)].phase = .answered
            slots[Int(index)].isArriving = false
        }
        return true
    }

    /// Notes that nobody wants a promise any more.
    ///
    /// - Returns: The number for a `Drop`; nil if the call is not written or has ended.
    mutating func dropPromise(_ ticket: Ticket) -> UInt32? {
        let index = Int(ticket.index)
        switch phase(of: ticket) {
        case .reserved: slots[index].promise = .unwanted
        case .sent:
            slots[index].phase = .abandoned
            slots[index].waiter = nil
            return slots[index].wire
        case .answered:
            defer { finish(ticket.index) }
            return slots[index].wire
        case .free, .withdrawn, .abandoned, nil: break
        }
        return nil
    }

    /// Whether a promise was dropped before its call was written.
    func isUnwanted(_ ticket: Ticket) -> Bool { slots[Int(ticket.index)].promise == .unwanted }

    /// Ends the written questions whose answer has not begun to arrive.
    mutating func removeUnanswered() -> [Question<Waiter>] {
        let indices = slots.indices.filter {
            (slots[$0].phase == .sent || slots[$0].phase == .abandoned) && !slots[$0].isArriving
        }
        let open = indices.map { slots[$0] }
        for index in indices { finish(UInt32(index)) }
        return open
    }

    /// Ends all written questions.
    mutating func removeAll() -> [Question<Waiter>] {
        let indices = slots.indices.filter { [.sent, .abandoned, .answered].contains(slots[$0].phase) }
        let open = indices.map { slots[$0] }
        for index in indices { finish(UInt32(index)) }
        return open
    }
}
