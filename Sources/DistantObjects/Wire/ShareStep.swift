/// The step that a `Share` frame takes: its flags.
package enum ShareStep: UInt8, Sendable {
    /// The initiator asks the other side to make shared memory.
    case ask = 0
    /// The other side has made it; without descriptors it has not.
    case give = 1
    /// All further frames come through the memory.
    case move = 2
    /// The initiator does not use the memory and stays on the socket. Sent only if the other side knows this step.
    case decline = 3
    /// The receiver has taken a region for blobs that the other side offered.
    case take = 4
    /// It has not.
    case refuse = 5
    /// The taker of a region lets go of some mentions of it.
    case giveBack = 6
    /// The maker of a region no longer uses it.
    case release = 7

    /// Whether it is about a region for blobs.
    var isOfBlobs: Bool { rawValue >= ShareStep.take.rawValue }
}
