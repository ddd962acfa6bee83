import PortTransport

/// The calls of ours that are under way.
///
/// Slots are used again, the one freed last first.
///
/// A question gets its number on the wire at commit: any number of callers may wait for credit, but the peer's table is
/// bounded by what it granted.
struct QuestionTable {
    private(set) var slots: [Question] = []
    private var free: [UInt32] = []
    /// For each number on the wire the slot that has it.
    private var committed: [UInt32] = []
    private var freeNumbers: [UInt32] = []
    private(set) var count = 0

    mutating func reserve(in scope: Unmanaged<CallScope>? = nil) -> Ticket {
        count += 1
        if let index = free.popLast() {
            slots[Int(index)].phase = .reserved
            slots[Int(index)].scope = scope
            return Ticket(index: index, serial: slots[Int(index)].serial)
        }
        slots.append(Question(phase: .reserved, serial: 0, waiter: nil, number: 0, timer: nil, scope: scope))
        return Ticket(index: UInt32(slots.count - 1), serial: 0)
    }

    /// The question that a scope's task waits for: it waits for one at a time.
    func ticket(of scope: CallScope) -> Ticket? {
        let ticket = scope.ticket
        guard let phase = phase(of: ticket), phase == .reserved || phase == .sent,
            slots[Int(ticket.index)].scope?.toOpaque() == Unmanaged.passUnretained(scope).toOpaque()
        else { return nil }
        return ticket
    }

    /// The question, if the ticket is not of an earlier use of the slot.
    subscript(ticket: Ticket) -> Question? {
        get {
            guard Int(ticket.index) < slots.count, slots[Int(ticket.index)].serial == ticket.serial,
                slots[Int(ticket.index)].phase != .free
            else { return nil }
            return slots[Int(ticket.index)]
        }
        set {
            guard let newValue, Int(ticket.index) < slots.count, slots[Int(ticket.index)].serial == ticket.serial else {
                return
            }
            slots[Int(ticket.index)] = newValue
        }
    }

    /// How far the question is, without a copy of it; nil if the ticket is of an earlier use of the slot.
    func phase(of ticket: Ticket) -> Question.Phase? {
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

    mutating func commit(_ ticket: Ticket, number: UInt64, waiter: consuming Waiter) {
        let index = Int(ticket.index)
        slots[index].number = number
        slots[index].waiter = waiter
    }

    /// The task of a scope has suspended; false if the question has been answered, or waits for credit.
    mutating func suspend(_ ticket: Ticket, _ continuation: UnsafeContinuation<Reply, any Error>) -> Bool {
        guard phase(of: ticket) == .sent, case .scope? = slots[Int(ticket.index)].waiter else { return false }
        slots[Int(ticket.index)].waiter = .task(continuation)
        return true
    }

    /// Ends a question; its slot, and its number if it has one, may be used again.
    ///
    /// - Returns: Who waited, and the timer of its deadline.
    @discardableResult
    mutating func finish(_ index: UInt32) -> (waiter: Waiter?, timer: TimerToken?) {
        let position = Int(index)
        if slots[position].phase == .sent || slots[position].phase == .abandoned {
            freeNumbers.append(slots[position].wire)
        }
        let timer = slots[position].timer
        slots[position].phase = .free
        slots[position].timer = nil
        slots[position].isArriving = false
        slots[position].serial &+= 1
        free.append(index)
        count -= 1
        return (slots[position].waiter.take(), timer)
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

    /// Whether somebody waits for the answer to a call that was committed.
    var isAwaited: Bool { slots.contains { $0.phase == .sent } }

    /// Ends those that were committed and whose answer has not begun to come.
    mutating func removeUnanswered() -> [Question] {
        let indices = slots.indices.filter {
            (slots[$0].phase == .sent || slots[$0].phase == .abandoned) && !slots[$0].isArriving
        }
        let open = indices.map { slots[$0] }
        for index in indices { finish(UInt32(index)) }
        return open
    }

    /// Ends all that were committed.
    mutating func removeAll() -> [Question] {
        let open = slots.filter { $0.phase == .sent || $0.phase == .abandoned }
        for index in slots.indices where slots[index].phase == .sent || slots[index].phase == .abandoned {
            finish(UInt32(index))
        }
        return open
    }
}
