/// Receives the frames of a channel.
///
/// `receive` is called in the order of the frames, on the thread that reads, under the channel's read lock. It must not
/// wait and must not run user code. It may enqueue frames and may call `setNeedsFlush`.
package protocol FrameHandler: AnyObject, Sendable {
    /// A whole frame or the opener of a large message. An error ends the channel with it.
    func receive(_ frame: borrowing InboundFrame) throws

    /// The large message `number` is complete; nil if its sender aborted it.
    func receive(largeMessage number: UInt64, _ bytes: ByteSlice?) throws

    /// The peer has offered a region for blobs; nil if its descriptor was lost. The caller closes the descriptor.
    ///
    /// Called like `receive` of a frame. May call `setNeedsFlush`.
    func receive(blobRegion descriptor: CInt?) throws(TransportError)

    /// The frames of one read were delivered; no lock is held. On the loop this may run a user's code; if that takes
    /// long, frames that come meanwhile are delivered by another thread, so two calls of this may overlap.
    func deliveryEnded(onLoop: Bool)

    /// Nothing more can be read, for the given reason: the peer broke a rule of the frames, its stream ends within one,
    /// or a system call failed. No lock is held. `ended` follows. Frames enqueued in this call are still written, if
    /// the kernel takes them at once.
    func inputFailed(_ error: TransportError)

    /// A process has ended that may have been the peer, and the channel cannot tell whether it was; called on the loop.
    func peerMayBeGone()

    /// The channel is over: called once, on the loop, after all input was delivered. A `deliveryEnded` that has not
    /// returned does not hold it up.
    func ended(_ reason: ChannelEnd)
}

extension FrameHandler {
    /// Refuses the region, for handlers that do not support blobs.
    package func receive(blobRegion descriptor: CInt?) throws(TransportError) {
        throw TransportError(.protocolViolation, "bytes came beside the memory that was agreed on")
    }

    /// Waits for the end of the input.
    package func peerMayBeGone() {}

    // `self` has a class type here. Casting an existential to one would copy it, which counts as a reference.
    var reference: ObjectAddress { ObjectAddress(self) }
}

/// One word long: each channel stores one, and few channels ever have an error.
package enum ChannelEnd: Sendable {
    /// The peer closed its end, or is gone.
    case endOfFile
    /// The protocol was broken, a system call failed, or the peer no longer reads.
    indirect case failed(TransportError)
    /// This side cancelled it, with the reason given.
    indirect case cancelled(TransportError)
}

/// Why a blocking read has returned.
package enum BlockingReadResult: Sendable {
    case done
    case deadlineExceeded
    /// The channel is over or can deliver nothing more.
    case ended
}
