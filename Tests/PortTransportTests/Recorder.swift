@testable import PortTransport

/// A handler that notes what comes, and waits for it without sleeping.
final class Recorder: FrameHandler {
    enum Item: Equatable, Sendable {
        case frame(kind: UInt8, flags: UInt8, number: UInt64, [UInt8], descriptors: [CInt])
        case opener(number: UInt64, [UInt8], length: UInt64)
        case largeMessage(number: UInt64, [UInt8]?)

        /// Of what came; nothing where there is none.
        var firstByte: UInt8? {
            switch self {
            case .frame(_, _, _, let bytes, _), .opener(_, let bytes, _): bytes.first
            case .largeMessage(_, let bytes): bytes?.first
            }
        }
    }

    struct State {
        var items: [Item] = []
        var deliveries = 0
        var failures: [TransportError] = []
        var ends: [ChannelEnd] = []
        var waiters: [(Int, CheckedContinuation<Void, Never>)] = []
        var endWaiters: [CheckedContinuation<Void, Never>] = []
        /// The channel whose blocking readers are signalled when the loop delivers.
        var channel: Channel?
    }

    let state = Guarded(State())
    /// Called for each frame, under the channel's read lock.
    let onFrame: (@Sendable (UInt8, UInt64, [UInt8]) throws -> Void)?
    let onDelivery: (@Sendable (Bool) -> Void)?

    init(
        onFrame: (@Sendable (UInt8, UInt64, [UInt8]) throws -> Void)? = nil,
        onDelivery: (@Sendable (Bool) -> Void)? = nil
    ) {
        self.onFrame = onFrame
        self.onDelivery = onDelivery
    }

    var items: [Item] { state.withLock { $0.items } }
    var ends: [ChannelEnd] { state.withLock { $0.ends } }

    func receive(_ frame: borrowing InboundFrame) throws {
        let body = [UInt8](frame.bytes)
        let number = frame.number
        if let length = frame.messageLength {
            add(.opener(number: number, body, length: length))
        } else {
            add(
                .frame(
                    kind: frame.kind, flags: frame.flags, number: number, body, descriptors: frame.descriptors))
        }
        try onFrame?(frame.kind, number, body)
    }

    func receive(largeMessage number: UInt64, _ bytes: ByteSlice?) throws {
        add(.largeMessage(number: number, bytes.map { [UInt8]($0.bytes) }))
    }

    func deliveryEnded(onLoop: Bool) {
        let channel = state.withLock { state in
            state.deliveries += 1
            return state.channel
        }
        onDelivery?(onLoop)
        if onLoop { channel?.signalBlockingReaders() }
    }

    func inputFailed(_ error: TransportError) {
        state.withLock { $0.failures.append(error) }
    }

    func ended(_ reason: ChannelEnd) {
        let waiters = state.withLock { state in
            state.ends.append(reason)
            state.channel = nil
            defer {
                state.endWaiters = []
                state.waiters = []
            }
            return state.endWaiters + state.waiters.map(\.1)
        }
        for waiter in waiters { waiter.resume() }
    }

    private func add(_ item: Item) {
        let ready = state.withLock { state in
            state.items.append(item)
            let ready = state.waiters.filter { $0.0 <= state.items.count }
            state.waiters.removeAll { $0.0 <= state.items.count }
            return ready
        }
        for (_, waiter) in ready { waiter.resume() }
    }

    /// Returns once so many items have come, or the channel has ended.
    func wait(forItems count: Int) async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if state.items.count >= count || !state.ends.isEmpty { return true }
                state.waiters.append((count, continuation))
                return false
            }
            if isReady { continuation.resume() }
        }
    }

    @discardableResult
    func waitForEnd() async -> ChannelEnd? {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if !state.ends.isEmpty { return true }
                state.endWaiters.append(continuation)
                return false
            }
            if isReady { continuation.resume() }
        }
        return ends.first
    }
}

extension Channel {
    @discardableResult
    func send(_ bytes: [UInt8], kind: UInt8 = 1, flags: UInt8 = 0, descriptors: [CInt] = []) -> UInt64 {
        let number = bytes.withUnsafeBytes { enqueue(kind: kind, flags: flags, prefix: $0, descriptors: descriptors) }
        setNeedsFlush()
        return number
    }

    @discardableResult
    func sendLarge(_ bytes: [UInt8], prefix: [UInt8] = [], kind: UInt8 = 2, pieces: Int = 1) -> UInt64 {
        let block = ByteBlock.make(count: max(1, bytes.count))
        block.bytes.copyBytes(from: bytes)
        var segments: [OutboundSegment] = []
        let size = max(1, (bytes.count + pieces - 1) / pieces)
        for start in stride(from: 0, to: bytes.count, by: size) {
            let part = block.bytes[start..<min(bytes.count, start + size)]
            segments.append(OutboundSegment(owner: block, bytes: UnsafeRawBufferPointer(rebasing: part)))
        }
        let number = prefix.withUnsafeBytes { enqueue(kind: kind, flags: 0, prefix: $0, segments: segments) }
        setNeedsFlush()
        return number
    }
}

/// Bytes that differ from place to place, made in large pieces.
func pattern(_ count: Int, seed: Int = 0) -> [UInt8] {
    // 251 is prime, so that no two cuts at powers of two look alike.
    let period = (0..<251).map { UInt8(truncatingIfNeeded: ($0 &+ seed) &* 31) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + period.count)
    while bytes.count < count { bytes += period }
    bytes.removeLast(bytes.count - count)
    return bytes
}
