/// A decimal as Foundation stores it: a number of up to 128 bits in 16-bit words, and a power of ten.
package struct DecimalParts {
    package let isNegative: Bool
    /// The words, the lowest first: always eight.
    package let words: [UInt16]
    /// The number of words in use: 0 for zero, and for NaN, which is also negative.
    package let length: Int

    private static let mostWords = 8

    /// Makes the parts of digits with their sign, or of `NaN`.
    package init(digits: String) throws {
        guard digits != DecimalText.notANumber else {
            isNegative = true
            words = [UInt16](repeating: 0, count: Self.mostWords)
            length = 0
            return
        }
        isNegative = DecimalText.isNegative(digits)
        guard let magnitude = UInt128(DecimalText.magnitude(digits)) else { throw DecimalText.broken() }
        words = (0..<Self.mostWords).map { UInt16(truncatingIfNeeded: magnitude >> (16 * $0)) }
        length = (words.lastIndex { $0 != 0 } ?? -1) + 1
    }

    /// Makes the parts of what an archive has.
    ///
    /// - Parameters:
    ///   - mantissa: The words, the lowest first.
    ///   - isBigEndian: Whether the higher byte of each word comes first.
    ///   - length: The number of words that count; nil if all do.
    package init(mantissa: some Collection<UInt8>, isBigEndian: Bool, length: Int?, isNegative: Bool) throws {
        let bytes = Array(mantissa)
        guard bytes.count <= 2 * Self.mostWords, bytes.count.isMultiple(of: 2),
            (0...Self.mostWords).contains(length ?? 0)
        else { throw DecimalText.broken() }
        self.isNegative = isNegative
        let used = min(length ?? Self.mostWords, bytes.count / 2)
        words = (0..<Self.mostWords).map {
            guard $0 < used else { return 0 }
            let (first, second) = (UInt16(bytes[2 * $0]), UInt16(bytes[2 * $0 + 1]))
            return isBigEndian ? first << 8 | second : second << 8 | first
        }
        self.length = used
    }

    /// The digits with their sign, or `NaN`.
    package var digits: String {
        guard length > 0 || !isNegative else { return DecimalText.notANumber }
        let magnitude = words.reversed().reduce(UInt128(0)) { $0 << 16 | UInt128($1) }
        return (isNegative ? "-" : "") + magnitude.description
    }

    /// The words, the lowest first, and of each the lower byte first.
    package var mantissa: [UInt8] { words.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] } }
}
