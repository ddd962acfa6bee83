// swift-format-ignore-file
// It is laid out as PortTransport.md shows it.

import PortTransport

/// The code of PortTransport.md, which is for this package's own modules.
enum PortTransportCode {
    // PortTransport.md: a handler
    final class Handler: FrameHandler {
        func receive(_ frame: borrowing InboundFrame) throws { /* in order, under the read lock, no user code */ }
        func receive(largeMessage number: UInt64, _ bytes: ByteSlice?) throws { /* a large message is complete */ }
        func deliveryEnded(onLoop: Bool) { /* user code may run here, on the loop */ }
        func inputFailed(_ error: TransportError) { /* nothing more can be read; `ended` follows */ }
        func ended(_ reason: ChannelEnd) { /* once, last */ }
    }
    // end

    static func connect(_ bytes: UnsafeRawBufferPointer) throws {
        // PortTransport.md: a handler
        let channel = Channel(endpoint: try .connect(path: "/run/x.sock"), loop: EventLoop.shared)
        channel.start(Handler())
        _ = channel.enqueue(kind: 1, flags: 0, prefix: bytes)
        channel.setNeedsFlush()
        // end
    }
}
