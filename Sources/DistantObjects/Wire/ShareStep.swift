/// What a `Share` frame says, its flags.
package enum ShareStep: UInt8, Sendable {
    /// The initiator asks the other party to make memory for both.
    case ask = 0
    /// The other party has made it; without descriptors: it has not.
    case give = 1
    /// All that follows comes through the memory.
    case move = 2
    /// The initiator has no use for the memory it was given, and stays; only where the other party knows this step.
    case decline = 3
}
