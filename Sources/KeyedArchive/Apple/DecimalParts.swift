/// A decimal as Foundation stores it: a number of up to 128 bits in 16-bit words, and a power of ten.
struct DecimalParts {
    let isNegative: Bool
    let words: [UInt16]
    /// The number of words in use: 0 for zero, and for NaN, which is also negative.
    let length: Int

    init(digits: String) throws {
        guard digits != DecimalText.notANumber else {
            isNegative = true
            words = [UInt16](repeating: 0, count: 8)
            length = 0
            return
        }
        isNegative = DecimalText.isNegative(digits)
        guard let magnitude = UInt128(DecimalText.magnitude(digits)) else { throw DecimalText.broken() }
        words = (0..<8).map { UInt16(truncatingIfNeeded: magnitude >> (16 * $0)) }
        length = (words.lastIndex { $0 != 0 } ?? -1) + 1
    }
}
