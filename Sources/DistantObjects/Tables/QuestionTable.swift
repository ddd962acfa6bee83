import PortTransport

/// The calls of this side that are under way.
///
/// Slots are used again, the one freed last first.
///
/// A question gets its number on the wire when it is written: any number of callers may wait for credit, but the peer's table is
/// bounded by what it granted.
struct QuestionTable<Waiter> {
    private(set) var slots: [Question<Waiter>] = []
    private var free: [UInt32] = []
    /// For each number on the wire the slot that has it.
    private var committed: [UInt32] = []
    private var freeNumbers: [UInt32] = []
    private(set) var count = 0

    mutating func reserve(in scope: ObjectIdentifier? = nil) -> Ticket {
        count += 1
        if let index = free.popLast() {
            slots[Int(index)].phase = .reserved
            slots[Int(index)].scope = scope
            return Ticket(index: index, serial: slots[Int(index)].serial)
        }
        slots.append(Question(phase: .reserved, serial: 0, waiter: nil, number: 0, timer: nil, scope: scope))
        return Ticket(index: UInt32(slots.count - 1), serial: 0)
    }

    /// Whether a ticket is of a question that is under way and that the scope cancels.
    func isOpen(_ ticket: Ticket, in scope: ObjectIdentifier) -> Bool {
        let phase = phase(of: ticket)
        return (phase == .reserved || phase == .sent) && slots[Int(ticket.index)].scope == scope
    }

    /// How far the question is; nil if the ticket is of an earlier use of the slot.
    func phase(of ticket: Ticket) -> QuestionPhase? {
        let index = Int(ticket.index)
        guard index < slots.count, slots[index].serial == ticket.serial, slots[index].phase != .free else { return nil }
        return slots[index].phase
    }

    /// Gives a question its number on the wire.
    mutating func name(_ ticket: Ticket) -> UInt32 {
        let wire: UInt32
        if let reused = freeNumbers.popLast() {
            wire = reused
            committed[Int(wire)] = ticket.index
        } else {
            wire = UInt32(committed.count)
            committed.append(ticket.index)
        }
        slots[Int(ticket.index)].wire = wire
        slots[Int(ticket.index)].phase = .sent
        return wire
    }

    /// A question was written, after `name(_:)`.
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

    /// Another waits for the answer from here on.
    ///
    /// - Returns: False if the question has been answered, waits for credit, or its waiter is not as it should be.
    mutating func replaceWaiter(of ticket: Ticket, with waiter: Waiter, if isRight: (Waiter) -> Bool) -> Bool {
        let index = Int(ticket.index)
        guard phase(of: ticket) == .sent, let before = slots[index].waiter, isRight(before) else { return false }
        slots[index].waiter = waiter
        return true
    }

    /// A question that is not written is given up: who is about to write it will see that.
    mutating func withdraw(_ ticket: Ticket) { slots[Int(ticket.index)].phase = .withdrawn }

    /// A question that was written is given up: only its `Return` is still to come.
    mutating func abandon(_ ticket: Ticket) -> (waiter: Waiter, timer: TimerToken?, wire: UInt32, number: UInt64)? {
        let index = Int(ticket.index)
        guard phase(of: ticket) == .sent, let waiter = slots[index].waiter.take() else { return nil }
        slots[index].phase = .abandoned
        return (waiter, slots[index].timer.take(), slots[index].wire, slots[index].number)
    }

    /// Ends a question; its slot, and its number if it has one, may be used again.
    ///
    /// - Returns: Who waited, and the timer of its deadline.
    @discardableResult
    mutating func finish(_ index: UInt32) -> (waiter: Waiter?, timer: TimerToken?) {
        free.append(index)
        count -= 1
        let ended = slots[Int(index)].end()
        if let wire = ended.wire { freeNumbers.append(wire) }
        return (ended.waiter, ended.timer)
    }

    /// The slot of the open question that a `Return` of the peer names.
    func answered(_ wire: UInt32) throws(ProtocolViolation) -> UInt32 {
        guard Int(wire) < committed.count else {
            throw ProtocolViolation(.unknownName, "a Return names a question that was never asked")
        }
        let index = committed[Int(wire)]
        let phase = slots[Int(index)].phase
        guard phase == .sent || phase == .abandoned, slots[Int(index)].wire == wire else {
            throw ProtocolViolation(.outOfStep, "a Return names a question that is not open")
        }
        return index
    }

    func isArriving(_ index: UInt32) -> Bool { slots[Int(index)].isArriving }

    mutating func setArriving(_ index: UInt32) { slots[Int(index)].isArriving = true }

    /// Whether somebody waits for the answer to a call that was written.
    var isAwaited: Bool { slots.contains { $0.phase == .sent } }

    /// Ends those that were written and whose answer has not begun to come.
    mutating func removeUnanswered() -> [Question<Waiter>] {
        let indices = slots.indices.filter {
            (slots[$0].phase == .sent || slots[$0].phase == .abandoned) && !slots[$0].isArriving
        }
        let open = indices.map { slots[$0] }
        for index in indices { finish(UInt32(index)) }
        return open
    }

    /// Ends all that were written.
    mutating func removeAll() -> [Question<Waiter>] {
        let open = slots.filter { $0.phase == .sent || $0.phase == .abandoned }
        for index in slots.indices where slots[index].phase == .sent || slots[index].phase == .abandoned {
            finish(UInt32(index))
        }
        return open
    }
}
