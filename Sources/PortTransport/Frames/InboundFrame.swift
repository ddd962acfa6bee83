/// A frame in the read buffer, valid during the call that passes it.
package struct InboundFrame: ~Copyable, @unchecked Sendable {  // Shown for the time of a call, by one thread.
    package let kind: UInt8
    package let flags: UInt8
    /// The frame's place among all frames that are not continuations, counted from 1.
    package let number: UInt64
    /// The body; for the opener of a large message, the part after the length.
    package let bytes: UnsafeRawBufferPointer
    /// The bytes that follow in continuations; nil for a whole frame.
    package let messageLength: UInt64?
    /// Descriptors that came with the frame.
    ///
    /// The handler owns them, whatever it does with the frame.
    package let descriptors: [CInt]
    private let buffer: Unmanaged<ReadBuffer>

    init(
        _ header: FrameHeader, number: UInt64, bytes: UnsafeRawBufferPointer, messageLength: UInt64?,
        descriptors: [CInt],
        buffer: Unmanaged<ReadBuffer>
    ) {
        kind = header.kind
        flags = header.flags
        self.number = number
        self.bytes = bytes
        self.messageLength = messageLength
        self.descriptors = descriptors
        self.buffer = buffer
    }

    /// A part of `bytes` that outlives the call, without a copy: it keeps the whole read buffer in memory.
    package func retain(_ range: Range<Int>) -> ByteSlice {
        ByteSlice(owner: buffer.takeUnretainedValue(), bytes: UnsafeRawBufferPointer(rebasing: bytes[range]))
    }
}
