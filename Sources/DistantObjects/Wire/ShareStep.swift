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
}
