import CPortShims

@testable import PortTransport

/// An output queue, a wire that takes as many bytes as a schedule says, and a simple model of what has to arrive.
///
/// The model knows nothing of plans: it reads the bytes on the wire as `Frames.md` describes them, and compares each
/// with what was enqueued. A piece of the region is a list of bytes that is filled in one order and announced in the same.
struct OutboundQueueSchedule: ~Copyable {
    enum Step: CaseIterable {
        /// Adds a whole frame.
        case frame
        /// Adds a message that goes into continuations of the stream, some of them cut by its segments.
        case message
        /// Gives up the oldest message that is not complete, or the newest one.
        case abortOldest
        case abortNewest
        /// Writes, as much as the wire takes: nothing, a byte, the first part of a header, all but a byte, or all.
        case writeNothing
        case writeByte
        case writeSome
        case writeNearlyAll
        case writeAll
        /// The same with a piece of the region free.
        case pieceNothing
        case pieceByte
        case pieceSome
        case pieceAll
        /// Writes a piece, while another thread adds a frame and gives up the oldest message.
        case pieceDuringChanges
        /// Writes with no piece free.
        case noPiece
        /// The peer gives back what it has consumed.
        case credit
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private struct Sent {
        let bytes: [UInt8]
        let isLarge: Bool
        var received: [UInt8] = []
        var isOpen = false
        var isAborted = false
        var isBegun = false
        var isComplete = false
    }

    static let window = 96
    private var queue = OutboundQueue(window: UInt64(Self.window))
    private var sent: [Sent] = []
    /// Bytes on the wire that are not a whole frame yet.
    private var wire: [UInt8] = []
    private var arrived = 0
    /// The pieces that are filled and not announced.
    private var pieces: [[UInt8]] = []
    private var outstanding = 0
    private var consumed = 0

    /// Two segments of one byte for each of the others, so that a continuation of the stream ends in the middle.
    private mutating func addMessage() {
        let number = sent.count + 1
        let bytes = (0..<40).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ number &* 31) }
        let block = ByteBlock.make(count: bytes.count)
        block.bytes.copyBytes(from: bytes)
        let segments = bytes.indices.map {
            OutboundSegment(owner: block, bytes: UnsafeRawBufferPointer(rebasing: block.bytes[$0..<($0 + 1)]))
        }
        _ = queue.append(
            kind: 2, flags: 0, prefix: UnsafeRawBufferPointer(start: nil, count: 0), segments: segments, descriptors: []
        )
        sent.append(Sent(bytes: bytes, isLarge: true))
    }

    private mutating func addFrame() {
        let bytes = [UInt8(truncatingIfNeeded: sent.count), 0xFF, 2]
        bytes.withUnsafeBytes { _ = queue.append(kind: 1, flags: 0, prefix: $0, body: nil, descriptors: []) }
        sent.append(Sent(bytes: bytes, isLarge: false))
    }

    private mutating func abort(_ index: Int?) {
        if let index { queue.abort(UInt64(index + 1)) }
    }

    private func isOpen(_ index: Int) -> Bool {
        sent[index].isLarge && !sent[index].isComplete && !sent[index].isAborted
    }
    private var oldest: Int? { sent.indices.first { isOpen($0) } }
    private var newest: Int? { sent.indices.last { isOpen($0) } }

    mutating func perform(_ step: Step) throws {
        switch step {
        case .frame: addFrame()
        case .message: addMessage()
        case .abortOldest: abort(oldest)
        case .abortNewest: abort(newest)
        case .writeNothing: try write(pieceSize: nil) { _ in 0 }
        case .writeByte: try write(pieceSize: nil) { min($0, 1) }
        case .writeSome: try write(pieceSize: nil) { min($0, 13) }
        case .writeNearlyAll: try write(pieceSize: nil) { $0 - 1 }
        case .writeAll: try write(pieceSize: nil) { $0 }
        case .pieceNothing: try write(pieceSize: 15) { _ in 0 }
        case .pieceByte: try write(pieceSize: 15) { min($0, 1) }
        case .pieceSome: try write(pieceSize: 15) { min($0, 13) }
        case .pieceAll: try write(pieceSize: 15) { $0 }
        case .pieceDuringChanges: try write(pieceSize: 15, changes: true) { min($0, 13) }
        case .noPiece: try write(pieceSize: 0) { $0 }
        case .credit: try giveCredit()
        }
    }

    private mutating func giveCredit() throws {
        let isOwed = queue.credit(UInt64(consumed))
        guard isOwed else { throw Failure(description: "credit of \(consumed) bytes is not owed") }
        outstanding -= consumed
        consumed = 0
    }

    private mutating func write(pieceSize: Int?, changes: Bool = false, takes: (Int) -> Int) throws {
        guard queue.canWrite else { return }
        let capacity = OutboundQueue.maximumVectors
        let vectors = UnsafeMutablePointer<iovecType>.allocate(capacity: capacity)
        defer { vectors.deallocate() }
        let plan = queue.plan(vectors, fragments: 4, pieceSize: pieceSize)
        let planned = (0..<plan.vectors).reduce(0) { $0 + vectors[$1].iov_len }
        guard planned == plan.bytes else {
            throw Failure(description: "\(plan.bytes) bytes planned, \(planned) laid out")
        }
        if let piece = plan.piece {
            var bytes = [UInt8](repeating: 0, count: piece.payload)
            bytes.withUnsafeMutableBytes { plan.message?.copy(piece.payload, to: $0) }
            pieces.append(bytes)
        }
        if changes {
            addFrame()
            abort(oldest)
        }
        let taken = max(0, takes(planned))
        var left = taken
        for index in 0..<plan.vectors where left > 0 {
            let part = min(left, vectors[index].iov_len)
            wire += UnsafeRawBufferPointer(start: vectors[index].iov_base, count: part)
            left -= part
        }
        _ = queue.advance(plan, written: taken)
        _ = queue.takeSpent()
        try read()
    }

    /// Reads the whole frames on the wire.
    private mutating func read() throws {
        while wire.count >= 8 {
            let length = wire[..<4].reversed().reduce(0) { $0 << 8 | Int($1) }
            guard length <= 1_000 else { throw Failure(description: "a frame of \(length) bytes") }
            guard wire.count >= 8 + length else { return }
            let (kind, flags, body) = (wire[4], wire[5], Array(wire[8..<(8 + length)]))
            wire.removeFirst(8 + length)
            if kind == 0xFF { try readContinuation(flags, body) } else { try readFrame(flags, body) }
        }
    }

    private mutating func readFrame(_ flags: UInt8, _ body: [UInt8]) throws {
        guard arrived < sent.count else { throw Failure(description: "a frame that was not sent") }
        let frame = sent[arrived]
        guard frame.isLarge == (flags == 0x80) else {
            throw Failure(description: "frame \(arrived + 1) has flags \(flags)")
        }
        let expected = frame.isLarge ? [UInt8(frame.bytes.count), 0, 0, 0, 0, 0, 0, 0] : frame.bytes
        guard body == expected else { throw Failure(description: "frame \(arrived + 1) holds \(body)") }
        sent[arrived].isOpen = frame.isLarge
        sent[arrived].isComplete = !frame.isLarge
        arrived += 1
    }

    private mutating func readContinuation(_ flags: UInt8, _ body: [UInt8]) throws {
        guard body.count >= 8 else { throw Failure(description: "a continuation of \(body.count) bytes") }
        let index = body[..<8].reversed().reduce(0) { $0 << 8 | Int($1) } - 1
        guard sent.indices.contains(index), sent[index].isOpen else {
            throw Failure(description: "a continuation of message \(index + 1), which is not open")
        }
        if flags == 2 {
            sent[index].isOpen = false
            sent[index].isAborted = true
            if sent[index].isBegun { outstanding -= sent[index].bytes.count }
            return
        }
        if !sent[index].isBegun {
            sent[index].isBegun = true
            guard outstanding == 0 || outstanding + sent[index].bytes.count <= Self.window else {
                throw Failure(description: "message \(index + 1) is begun beyond the window")
            }
            outstanding += sent[index].bytes.count
        }
        var payload = Array(body[8...])
        if flags & 4 != 0 {
            guard !pieces.isEmpty, payload == [UInt8(pieces[0].count), 0, 0, 0] else {
                throw Failure(
                    description: "piece \(payload) of message \(index + 1) is announced, \(pieces) are filled")
            }
            payload = pieces.removeFirst()
        }
        sent[index].received += payload
        let message = sent[index]
        guard message.bytes.starts(with: message.received) else {
            throw Failure(description: "message \(index + 1) holds \(message.received)")
        }
        let isWhole = message.received.count == message.bytes.count
        guard isWhole == (flags & 1 != 0) else { throw Failure(description: "message \(index + 1) has flags \(flags)") }
        if isWhole {
            sent[index].isOpen = false
            sent[index].isComplete = true
            consumed += message.bytes.count
        }
    }

    /// Writes what is left, and compares everything.
    mutating func finish() throws {
        var rounds = 0
        while !queue.isEmpty {
            rounds += 1
            guard rounds < 200 else { throw Failure(description: "the queue is never empty") }
            try giveCredit()
            try write(pieceSize: rounds % 3 == 0 ? 15 : nil) { rounds % 5 == 0 ? min($0, 9) : $0 }
        }
        try giveCredit()
        guard arrived == sent.count, wire.isEmpty, pieces.isEmpty else {
            throw Failure(
                description: "\(arrived) of \(sent.count) frames arrive, \(wire.count) bytes and \(pieces) are left")
        }
        for index in sent.indices where !sent[index].isComplete && !sent[index].isAborted {
            throw Failure(description: "message \(index + 1) does not end")
        }
        for index in sent.indices where queue.isWritten(UInt64(index + 1)) != sent[index].isComplete {
            throw Failure(
                description: "frame \(index + 1) counts as written, or does not, and it should not, or should")
        }
        let counts = [
            Int(queue.outstanding), queue.queuedBytes, queue.unsentAnswers, queue.unsentOwnFrames,
            queue.unsentOwnMessages,
            outstanding,
        ]
        guard counts.allSatisfy({ $0 == 0 }) else { throw Failure(description: "at rest the counts are \(counts)") }
    }

    /// Runs a schedule from the beginning.
    static func run(_ steps: some Sequence<Step>) throws {
        var schedule = OutboundQueueSchedule()
        for step in steps { try schedule.perform(step) }
        try schedule.finish()
    }
}
