/// A decimal as Foundation keeps it: a number of up to 128 bits in words of 16, and the power of ten.
struct DecimalParts {
    let isNegative: Bool
    let words: [UInt16]
    /// Words in use; 0 for zero, and with the sign for NaN.
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
