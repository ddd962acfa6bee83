/// Identifies one use of a question's slot.
struct Ticket: Sendable, Equatable {
    let index: UInt32
    let serial: UInt32
}
