import PortTransport
import Testing

@testable import KeyedArchive

@Suite("Where bodies lie")
struct BodyTableTests {
    /// The body of an archive with values of three bytes and objects of these lengths.
    private func archive(_ lengths: [Int]) -> [UInt8] {
        var sink = ByteSink()
        defer { sink.deallocate() }
        sink.varint(UInt64(lengths.count))
        sink.varint(3)
        for length in lengths { sink.varint(UInt64(length)) }
        for _ in 0..<3 + lengths.reduce(0, +) { sink.byte(0) }
        return Array(sink.bytes)
    }

    @Test(
        "Bodies are found in any order, however many there are",
        arguments: [0, 1, 2, 15, 16, 17, 31, 32, 33, 48, 49, 1000])
    func anyOrderInBodyTable(_ count: Int) throws {
        var random = SeededGenerator(seed: UInt64(count))
        let lengths = (0..<count).map { _ in Int.random(in: 2...(Bool.random(using: &random) ? 9 : 300), using: &random)
        }
        try archive(lengths).withUnsafeBytes { bytes in
            var source = ByteSource(bytes)
            var table = try BodyTable(&source, limits: ArchiveLimits())
            defer { table.deallocate() }
            #expect(table.count == count && source.remaining == 3)
            var starts = [source.end]
            for length in lengths { starts.append((starts.last ?? 0) + length) }
            #expect(starts.last == bytes.count)
            let forth = Array(0..<count)
            for order in [forth, forth.reversed(), forth.shuffled(using: &random), forth.flatMap { [$0, $0] }] {
                for number in order {
                    for body in [table.body(number), table.fixedBody(number)] {
                        #expect(body.position == starts[number] && body.end == starts[number + 1])
                    }
                }
            }
        }
    }

    @Test("Lengths that do not match the bytes are an error")
    func wrongLengths() {
        for lengths in [[Int]](arrayLiteral: [1], [2, 0], Array(repeating: 2, count: 16) + [1]) {
            #expect(throws: ArchiveError.self) { try table(archive(lengths), ArchiveLimits()) }
        }
        for count in [1, 16, 17, 40] {
            let bytes = archive(Array(repeating: 5, count: count))
            for cut in 1...bytes.count {
                #expect(throws: ArchiveError.self) { try table(Array(bytes.dropLast(cut)), ArchiveLimits()) }
            }
            let error = #expect(throws: ArchiveError.self) { try table(bytes + [0], ArchiveLimits()) }
            #expect(error?.code == .corrupt)
            var limits = ArchiveLimits()
            limits.objects = count - 1
            #expect(throws: ArchiveError.self) { try table(bytes, limits) }
        }
    }

    private func table(_ bytes: [UInt8], _ limits: ArchiveLimits) throws {
        try bytes.withUnsafeBytes { bytes in
            var source = ByteSource(bytes)
            try BodyTable(&source, limits: limits).deallocate()
        }
    }
}
