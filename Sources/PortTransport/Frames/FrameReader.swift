/// Splits a stream of bytes into frames and puts large messages together: a state machine without I/O.
///
/// The owner reads bytes and passes them to `next` until it returns `.incomplete`. It passes the bytes left over again,
/// at the start of a longer run, after the next read. Within a continuation, `destination` says where the next bytes
/// belong, so that they can be received straight into the message; `next` copies those that were received together with
/// others. Whole frames are never copied: an event names their range in the bytes passed.
package struct FrameReader: ~Copyable {
    package struct Limits: Sendable {
        /// The most bytes in one large message.
        package var message: UInt64
        /// The most bytes of large messages begun and not yet consumed, unless it is a single message.
        package var window: UInt64
        /// The most bytes in the body of one frame.
        package var frame: UInt32
        /// The most large messages announced and not yet complete.
        package var openMessages: UInt32
        /// Whether frames may carry descriptors.
        package var carriesDescriptors: Bool

        package init(
            frame: Int = 72 << 10, message: UInt64 = 1 << 30, window: UInt64 = 8 << 20, openMessages: Int = 65_536,
            carriesDescriptors: Bool = true
        ) {
            self.frame = UInt32(frame)
            self.message = message
            self.window = window
            self.openMessages = UInt32(openMessages)
            self.carriesDescriptors = carriesDescriptors
        }
    }

    package enum Event {
        /// A whole frame, or the opener of a large message of `messageLength` bytes; `body` is a range of the bytes
        /// passed.
        case frame(FrameHeader, number: UInt64, body: Range<Int>, messageLength: UInt64?)
        /// A large message is complete; nil if its sender aborted it.
        case largeMessage(number: UInt64, ByteSlice?)
        /// The next bytes of a large message are in a piece of a region. The owner copies them to `destination` before
        /// it does anything else, and reports that with `filled`.
        case piece
        /// The frame at the cursor is incomplete. It has `needed` bytes, or that much is known; 0 if no frame begins
        /// there.
        case incomplete(needed: Int)
    }

    private struct Message {
        let number: UInt64
        let total: Int
        var received = 0
        var block: MessageBlock?
    }

    /// The large messages that come in.
    private final class LargeInput {
        /// In the order of their numbers, which is the order of their openers.
        var messages: [Message] = []
        /// The message whose continuation is being received, as an index in `messages`, and the bytes of the payload
        /// still to come.
        var current = 0
        var rest = 0
        var isLast = false
        /// Bytes of all large messages ever begun.
        var begun: UInt64 = 0
        /// Bytes of large messages the owner has consumed.
        var consumed: UInt64 = 0
    }

    private let limits: Limits
    /// Whether frames may carry descriptors now.
    var carriesDescriptors: Bool
    private var lastNumber: UInt64 = 0
    /// Nil before the first large message.
    private var large: LargeInput?

    package init(limits: Limits) {
        self.limits = limits
        carriesDescriptors = limits.carriesDescriptors
    }

    /// True if no large message is under way.
    package var isWhole: Bool { large?.messages.isEmpty ?? true }

    /// Bytes of large messages the owner has consumed; the owner keeps the number up to date.
    package var consumed: UInt64 {
        get { large?.consumed ?? 0 }
        set { large?.consumed = newValue }
    }

    /// Bytes of all large messages ever begun, without those that were aborted.
    package var begun: UInt64 { large?.begun ?? 0 }

    /// Where the next bytes of the stream belong, within a continuation.
    package var destination: UnsafeMutableRawBufferPointer? {
        guard let large, large.rest > 0, let block = large.messages[large.current].block else { return nil }
        let start = large.messages[large.current].received
        return UnsafeMutableRawBufferPointer(rebasing: block.bytes[start..<(start + large.rest)])
    }

    /// Whether another continuation of the message comes after the one in `destination`.
    package var moreFollows: Bool { !(large?.isLast ?? false) }

    /// Reports that `count` bytes were copied to `destination`, which has to have so many.
    package mutating func filled(_ count: Int) -> Event? {
        guard let large else { return nil }
        large.messages[large.current].received += count
        large.rest -= count
        return large.rest == 0 ? endContinuation(of: large) : nil
    }

    /// Reads the frame or continuation at `cursor`, and moves `cursor` behind it.
    package mutating func next(
        _ bytes: UnsafeRawBufferPointer, _ cursor: inout Int
    ) throws(TransportError) -> Event {
        while true {
            if let large, large.rest > 0 {
                guard let destination, cursor < bytes.count else { return .incomplete(needed: 0) }
                let count = min(large.rest, bytes.count - cursor)
                destination.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[cursor..<(cursor + count)]))
                cursor += count
                if let event = filled(count) { return event }
                continue
            }
            guard let base = bytes.baseAddress, bytes.count - cursor >= FrameHeader.size else {
                return .incomplete(needed: bytes.count > cursor ? FrameHeader.size : 0)
            }
            let header = FrameHeader(at: base + cursor)
            // Compared as `UInt32`, which has room for any length.
            guard header.length <= limits.frame else {
                throw violation("a frame of \(header.length) bytes, where \(limits.frame) are allowed")
            }
            if header.kind == FrameHeader.continuationKind {
                guard header.length >= 8 else { throw violation("a continuation without a number") }
                let isPiece = header.flags & FrameHeader.pieceFlag != 0
                let size = isPiece ? FrameHeader.pieceSize : FrameHeader.continuationSize
                guard !isPiece || FrameHeader.size + Int(header.length) == size else {
                    throw violation("a piece of \(header.length) bytes")
                }
                guard bytes.count - cursor >= size else { return .incomplete(needed: size) }
                let number = UInt64(
                    littleEndian: (base + cursor + FrameHeader.size).loadUnaligned(as: UInt64.self))
                var payload = Int(header.length) - 8
                if isPiece {
                    let place = base + cursor + FrameHeader.continuationSize
                    payload = Int(UInt32(littleEndian: place.loadUnaligned(as: UInt32.self)))
                    guard payload > 0 else { throw violation("an empty piece") }
                }
                cursor += size
                if let event = try continuation(header, number, payload) { return event }
                if isPiece { return .piece }
                continue
            }
            let size = FrameHeader.size + Int(header.length)
            guard bytes.count - cursor >= size else { return .incomplete(needed: size) }
            let body = (cursor + FrameHeader.size)..<(cursor + size)
            let event = try opener(header, body, base)
            cursor += size
            return event
        }
    }

    @inline(__always)
    private mutating func opener(
        _ header: FrameHeader, _ body: Range<Int>, _ base: UnsafeRawPointer
    ) throws(TransportError) -> Event {
        if header.descriptors > 0 {
            guard carriesDescriptors else { throw violation("descriptors on a channel that carries none") }
            guard header.descriptors <= 253 else { throw violation("\(header.descriptors) descriptors on one frame") }
        }
        lastNumber += 1
        guard header.flags & FrameHeader.fragmentedFlag != 0 else {
            return .frame(header, number: lastNumber, body: body, messageLength: nil)
        }
        guard body.count >= 8 else { throw violation("a large message without a length") }
        let total = UInt64(littleEndian: (base + body.lowerBound).loadUnaligned(as: UInt64.self))
        guard total <= limits.message else {
            throw violation("a message of \(total) bytes, where \(limits.message) are allowed")
        }
        let large = large ?? LargeInput()
        self.large = large
        guard large.messages.count < limits.openMessages else {
            throw violation("more than \(limits.openMessages) large messages at once")
        }
        guard let count = Int(exactly: total) else { throw violation("a message of \(total) bytes") }
        large.messages.append(Message(number: lastNumber, total: count))
        return .frame(header, number: lastNumber, body: (body.lowerBound + 8)..<body.upperBound, messageLength: total)
    }

    private mutating func continuation(
        _ header: FrameHeader, _ number: UInt64, _ payload: Int
    ) throws(TransportError) -> Event? {
        guard header.descriptors == 0 else { throw violation("descriptors on a continuation") }
        guard let large, let index = Self.index(of: number, in: large.messages) else {
            throw violation("a continuation of message \(number), which is not under way")
        }
        let message = large.messages[index]
        switch header.flags {
        case FrameHeader.abortFlag:
            guard payload == 0 else { throw violation("an abort with a payload") }
            // Both sides take an aborted message out of their count, so no credit is given back for it.
            if message.block != nil { large.begun -= UInt64(message.total) }
            large.messages.remove(at: index)
            return .largeMessage(number: number, nil)
        case FrameHeader.lastFlag, FrameHeader.lastFlag | FrameHeader.pieceFlag:
            guard message.received + payload == message.total else {
                throw violation("message \(number) ends after \(message.received + payload) of \(message.total) bytes")
            }
        case 0, FrameHeader.pieceFlag:
            guard payload > 0, message.received + payload < message.total else {
                throw violation("message \(number) goes on after its \(message.total) bytes")
            }
        default:
            throw violation("a continuation with the flags \(header.flags)")
        }
        if message.block == nil {
            let outstanding = large.begun - min(large.consumed, large.begun)
            guard outstanding == 0 || outstanding + UInt64(message.total) <= limits.window else {
                throw violation("message \(number) was begun without credit")
            }
            guard let block = MessageBlock.make(count: message.total) else {
                throw TransportError(
                    .limitExceeded, "no memory for a message of \(message.total) bytes",
                    context: ["message \(number)"])
            }
            large.begun += UInt64(message.total)
            large.messages[index].block = block
        }
        large.current = index
        large.rest = payload
        large.isLast = header.flags & FrameHeader.lastFlag != 0
        return payload == 0 ? endContinuation(of: large) : nil
    }

    private func endContinuation(of large: LargeInput) -> Event? {
        guard large.isLast else { return nil }
        let message = large.messages.remove(at: large.current)
        guard let block = message.block else { return nil }
        let bytes = UnsafeRawBufferPointer(block.bytes)
        return .largeMessage(number: message.number, ByteSlice(owner: block, bytes: bytes))
    }

    private static func index(of number: UInt64, in messages: [Message]) -> Int? {
        var low = 0
        var high = messages.count
        while low < high {
            let middle = (low + high) / 2
            if messages[middle].number == number { return middle }
            if messages[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return nil
    }

    private func violation(_ what: String) -> TransportError {
        TransportError(.protocolViolation, what, context: ["after frame \(lastNumber)"])
    }
}
