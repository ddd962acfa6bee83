import CPortShims
import TestSupport
import Testing

@testable import PortTransport

@Suite("The frame reader", .bounded())
struct FrameReaderTests {
    /// Frames and a large message in between, as they go over the wire.
    static func stream() -> [UInt8] {
        var queue = OutboundQueue(window: 8 << 20)
        let block = ByteBlock.make(count: 100)
        block.bytes.copyBytes(from: pattern(100))
        let segment = OutboundSegment(owner: block, bytes: UnsafeRawBufferPointer(block.bytes))
        _ = append(&queue, pattern(10))
        _ = append(&queue, [])
        _ = [7, 8].withUnsafeBytes { (prefix: UnsafeRawBufferPointer) in
            queue.append(kind: 2, flags: 1, prefix: prefix, segments: [segment], descriptors: [])
        }
        _ = append(&queue, pattern(30))
        return written(&queue)
    }

    static func append(_ queue: inout OutboundQueue, _ bytes: [UInt8]) -> UInt64 {
        bytes.withUnsafeBytes { queue.append(kind: 1, flags: 0, prefix: $0, body: nil, descriptors: []) }
    }

    static func written(_ queue: inout OutboundQueue) -> [UInt8] {
        var bytes: [UInt8] = []
        withUnsafeTemporaryAllocation(of: iovecType.self, capacity: OutboundQueue.maximumVectors) { vectors in
            guard let base = vectors.baseAddress else { return }
            while queue.canWrite {
                let plan = queue.plan(base, fragments: 1)
                var count = 0
                for index in 0..<plan.vectors {
                    bytes += UnsafeRawBufferPointer(start: base[index].iov_base, count: base[index].iov_len)
                    count += base[index].iov_len
                }
                _ = queue.advance(plan, written: count)
            }
        }
        return bytes
    }

    /// Reads pieces as a channel does: what is not yet whole is shown again with the next piece.
    static func read(_ pieces: [[UInt8]], _ limits: FrameReader.Limits = .init()) throws -> [String] {
        var reader = FrameReader(limits: limits)
        var left: [UInt8] = []
        var events: [String] = []
        for piece in pieces {
            left += piece
            var cursor = 0
            try left.withUnsafeBytes { bytes in
                while true {
                    switch try reader.next(bytes, &cursor) {
                    case .frame(let header, let number, let body, let length):
                        events.append(
                            "\(number) \(header.kind) \(Array(bytes[body])) \(length.map(String.init) ?? "-")")
                    case .largeMessage(let number, let slice):
                        events.append("message \(number) \(slice.map { Array($0.bytes) } ?? [])")
                    case .piece:
                        reader.destination?.initializeMemory(as: UInt8.self, repeating: 9)
                        let count = reader.destination?.count ?? 0
                        events.append("piece \(count)")
                        if case .largeMessage(let number, let slice)? = reader.filled(count) {
                            events.append("message \(number) \(slice.map { Array($0.bytes) } ?? [])")
                        }
                    case .incomplete: return
                    }
                }
            }
            left.removeFirst(cursor)
        }
        return events
    }

    @Test("The stream may be split at any byte, and at any two")
    func splitting() throws {
        let stream = Self.stream()
        let whole = try Self.read([stream])
        #expect(whole.count == 5)
        for first in 0...stream.count {
            #expect(try Self.read([Array(stream[..<first]), Array(stream[first...])]) == whole)
        }
        for first in stride(from: 0, to: stream.count, by: 13) {
            for second in stride(from: first, to: stream.count, by: 11) {
                let pieces = [stream[..<first], stream[first..<second], stream[second...]].map(Array.init)
                #expect(try Self.read(pieces) == whole)
            }
        }
        #expect(try Self.read(stream.map { [$0] }) == whole)
    }

    static func frame(_ kind: UInt8, _ flags: UInt8, _ body: [UInt8], descriptors: UInt16 = 0) -> [UInt8] {
        withUnsafeTemporaryAllocation(byteCount: 8, alignment: 8) { memory in
            FrameHeader(length: UInt32(body.count), kind: kind, flags: flags, descriptors: descriptors)
                .write(to: memory.baseAddress.unsafelyUnwrapped)
            return Array(memory) + body
        }
    }

    static func number(_ value: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }

    @Test(
        "What the protocol does not allow is an error, found before memory is taken for it",
        arguments: [
            ("too long", [0xFF, 0xFF, 0xFF, 0xFF, 1, 0, 0, 0]),
            ("continuation without number", frame(0xFF, 0, [1, 2, 3])),
            ("continuation of nothing", frame(0xFF, 0, number(1) + [1])),
            ("opener without length", frame(2, 0x80, [1, 2])),
            ("huge message", frame(2, 0x80, number(1 << 62))),
            ("254 descriptors", frame(1, 0, [], descriptors: 254)),
            ("descriptors on a continuation", frame(2, 0x80, number(9)) + frame(0xFF, 1, number(1), descriptors: 1)),
            ("too many bytes", frame(2, 0x80, number(3)) + frame(0xFF, 0, number(1) + [1, 2, 3, 4])),
            ("too few bytes", frame(2, 0x80, number(3)) + frame(0xFF, 1, number(1) + [1, 2])),
            ("empty continuation", frame(2, 0x80, number(3)) + frame(0xFF, 0, number(1))),
            ("abort with payload", frame(2, 0x80, number(3)) + frame(0xFF, 2, number(1) + [1])),
            ("last and abort", frame(2, 0x80, number(3)) + frame(0xFF, 3, number(1))),
            ("after its end", frame(2, 0x80, number(1)) + frame(0xFF, 1, number(1) + [1]) + frame(0xFF, 1, number(1))),
        ] as [(String, [UInt8])])
    func violations(name: String, bytes: [UInt8]) {
        #expect(throws: TransportError.self, "\(name)") { try Self.read([bytes]) }
        do { _ = try Self.read(bytes.map { [$0] }) } catch {
            #expect((error as? TransportError)?.code == .protocolViolation)
        }
    }

    @Test("A large message that has no room in the window is refused at its first byte")
    func windowInFrameReader() throws {
        var limits = FrameReader.Limits()
        limits.window = 10
        let openers = Self.frame(2, 0x80, Self.number(8)) + Self.frame(2, 0x80, Self.number(8))
        let first = Self.frame(0xFF, 1, Self.number(1) + pattern(8))
        let second = Self.frame(0xFF, 1, Self.number(2) + pattern(8))
        #expect(try Self.read([openers + first], limits).count == 3)
        #expect(throws: TransportError.self) { try Self.read([openers + first + second], limits) }
    }

    @Test("A message that is given up ends without bytes, also before its first")
    func aborts() throws {
        let opener = Self.frame(2, 0x80, Self.number(8))
        let abort = Self.frame(0xFF, 2, Self.number(1))
        #expect(try Self.read([opener + abort]).last == "message 1 []")
        #expect(try Self.read([opener + Self.frame(0xFF, 0, Self.number(1) + [1]) + abort]).last == "message 1 []")
    }

    /// A large message of 300 bytes, and a continuation of it whose payload lies in a piece.
    private static func piece(
        _ count: UInt32, flags: UInt8, number: UInt8 = 1, length: UInt8 = 12
    ) -> [UInt8] {
        [length, 0, 0, 0, 0xFF, flags, 0, 0, number, 0, 0, 0, 0, 0, 0, 0]
            + withUnsafeBytes(of: count.littleEndian, Array.init).prefix(Int(length) - 8)
    }

    private static let opener: [UInt8] = [8, 0, 0, 0, 2, 0x80, 0, 0, 0x2C, 1, 0, 0, 0, 0, 0, 0]

    @Test("Continuations in pieces of a region mix with those in the stream")
    func piecesInFrameReader() throws {
        let streamed: [UInt8] = [10, 0, 0, 0, 0xFF, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3, 4]
        let stream = Self.opener + Self.piece(100, flags: 4) + streamed + Self.piece(198, flags: 5)
        let nines = { [UInt8](repeating: 9, count: $0) }
        let whole = ["1 2 [] 300", "piece 100", "piece 198", "message 1 \(nines(100) + [3, 4] + nines(198))"]
        for cut in 0...stream.count {
            #expect(try Self.read([Array(stream[..<cut]), Array(stream[cut...])]) == whole)
        }
    }

    @Test(
        "A piece that says more than its message has, or breaks another rule, is refused",
        arguments: [
            piece(301, flags: 4), piece(300, flags: 4), piece(299, flags: 5), piece(.max, flags: 5), piece(0, flags: 4),
            piece(0, flags: 6), piece(1, flags: 6), piece(1, flags: 12), piece(1, flags: 4, number: 2),
            piece(1, flags: 4, length: 11), piece(1, flags: 4, length: 9),
        ])
    func wrongPieces(piece: [UInt8]) throws {
        #expect(throws: TransportError.self) { _ = try Self.read([Self.opener + piece]) }
    }
}
