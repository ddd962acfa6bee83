/// A step that the host has to take at once, while it still handles the frame.
enum DeliveryStep: UInt8 {
    case none
    /// Keep the channel open after the end of its input, which the peer has announced: the peer's calls are still
    /// answered.
    case outliveInput
    /// Get ready for descriptors of shared memory, then call `askForMemory()`.
    case expectMemory
    /// Make memory for both sides, then call `memoryWasMade(_:)`.
    case makeMemory
    /// Open the memory whose descriptors came with the frame, then call `memoryWasTaken(_:)`.
    case takeMemory
    /// Read the frames that follow from shared memory.
    case moveInput
    /// Free the memory that was made: the peer does not use it.
    case dropMemory
}
