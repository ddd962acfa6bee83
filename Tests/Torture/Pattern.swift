import PortTransport

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Bytes that follow from a seed, so that each side can tell what the other has to send.
enum Pattern {
    /// The bytes of a seed and a length: those of another length differ from the first byte on.
    static func bytes(_ seed: UInt64, _ count: Int) -> [UInt8] {
        // An empty array is the same object everywhere, and the initializer would write its count into it.
        guard count > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            var random = SeededGenerator(seed: mixed(seed, count))
            let raw = UnsafeMutableRawBufferPointer(buffer)
            var place = 0
            while place + 8 <= count {
                raw.storeBytes(of: random.next().littleEndian, toByteOffset: place, as: UInt64.self)
                place += 8
            }
            var rest = random.next()
            while place < count {
                raw[place] = UInt8(truncatingIfNeeded: rest)
                rest >>= 8
                place += 1
            }
            filled = count
        }
    }

    /// Compares every byte; a difference ends the process.
    static func check(_ found: some ContiguousBytes, _ seed: UInt64, _ count: Int, _ what: @autoclosure () -> String) {
        let expected = bytes(seed, count)
        found.withUnsafeBytes { found in
            guard found.count == count else {
                Verdict.fail("\(what()): \(found.count) bytes in place of \(count), of seed \(seed)")
            }
            if let place = expected.indices.first(where: { expected[$0] != found[$0] }) {
                Verdict.fail(
                    "\(what()): byte \(place) of \(count) is \(found[place]) and not \(expected[place]), of seed \(seed)"
                )
            }
        }
    }

    /// A number that follows from two others.
    static func mixed(_ seed: UInt64, _ number: some BinaryInteger) -> UInt64 {
        var random = SeededGenerator(seed: seed ^ (UInt64(truncatingIfNeeded: number) &* 0x9E37_79B9_7F4A_7C15))
        return random.next()
    }
}

extension Pattern {
    /// The item of a stream, or the one-way message, at an index.
    static func item(_ seed: UInt64, _ index: Int) -> [UInt8] {
        let own = mixed(seed, index)
        // Most are small, and some fill a frame.
        let bound = own % 16 == 0 ? 20_000 : own % 4 == 0 ? 900 : 60
        return bytes(own, Int(mixed(own, 3) % UInt64(bound)))
    }
}
