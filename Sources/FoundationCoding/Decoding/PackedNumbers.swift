import Foundation
import KeyedArchive

/// Numbers of 7 bits a byte, lowest first, the last byte of each below 128.
///
/// Index sets, index paths and attributed strings store their numbers this way.
struct PackedNumbers {
    private let bytes: [UInt8]
    private var position = 0

    init(_ data: Data) { bytes = Array(data) }

    var isAtEnd: Bool { position == bytes.count }

    /// The next number.
    ///
    /// - Throws: `ArchiveError` if there is none, or if it does not fit an `Int`.
    mutating func next() throws -> Int {
        let start = position
        guard let value = try? Varint.read(bytes, at: &position), position - start < 10,
            let result = Int(exactly: value), result < Int.max
        else { throw ArchiveError(.corrupt, "packed numbers that are truncated or too large") }
        return result
    }

    /// All numbers, exactly `count` of them.
    func numbers(count: Int) throws -> [Int] {
        guard count <= bytes.count else { throw ArchiveError(.corrupt, "too few packed numbers") }
        var reader = self
        let result = try (0..<count).map { _ in try reader.next() }
        guard reader.isAtEnd else { throw ArchiveError(.corrupt, "too many packed numbers") }
        return result
    }
}
