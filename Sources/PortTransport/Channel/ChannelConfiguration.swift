/// The bounds of a channel.
package struct ChannelConfiguration: Sendable {
    /// The most bytes in the body of a frame, both ways; at most `largestFrame`.
    ///
    /// The default is 64 KiB of payload and 8 KiB of header and tables.
    package var maximumFrame: Int
    /// The most bytes in one large message received.
    ///
    /// The memory of a message is allocated at its first byte.
    package var maximumMessage: UInt64
    /// The most bytes of large messages under way, each way, unless it is a single message.
    ///
    /// Both peers must agree.
    package var window: UInt64
    /// How large messages are cut.
    package var sizes = OutputSizes()
    /// Whether descriptors are accepted, where the endpoint can carry them.
    package var acceptsDescriptors: Bool
    /// Whether the kernel is asked to refuse descriptors that are not accepted; false in tests of what happens on
    /// kernels that cannot refuse them.
    package var asksKernel = true
    /// The kind of frames that are answers; where memory is shared, a thread that waits for one is woken directly.
    package var answerKind: UInt8?
    /// Other kinds of frames that the peer's messages cause: their bytes count as bytes of answers.
    ///
    /// Bit k stands for kind k.
    package var countedKinds: UInt32
    /// How many of this side's own bytes may be unsent before the owner should wait: in whole frames, and in large
    /// messages.
    package var unsentFrames = 4 << 20
    package var unsentMessages = 32 << 20
    /// How many of this side's own bytes may be unsent in whole frames at all.
    ///
    /// Some frames do not wait for room, such as credit and releases. Such frames are small, but a peer that does not
    /// read can cause any number of them. Above this limit the channel ends.
    package var mostUnsentFrames = 16 << 20

    package static let defaultWindow: UInt64 = 8 << 20
    package static var largestFrame: Int { ReadBuffer.size / 2 - FrameHeader.size }

    package init(
        maximumFrame: Int = 72 << 10, maximumMessage: UInt64 = 1 << 30, window: UInt64 = defaultWindow,
        acceptsDescriptors: Bool = true, answerKind: UInt8? = nil,
        countedKinds: UInt32 = 0
    ) {
        self.maximumFrame = min(max(maximumFrame, 64), Self.largestFrame)
        self.maximumMessage = maximumMessage
        self.window = window
        self.acceptsDescriptors = acceptsDescriptors
        self.answerKind = answerKind
        self.countedKinds = countedKinds
    }
}
