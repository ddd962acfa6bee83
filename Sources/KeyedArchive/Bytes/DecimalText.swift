#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Decimals as archives store them: digits and a power of ten that `Decimal` can hold.
enum DecimalText {
    static let exponents: ClosedRange<Int64> = -128...127
    /// The digits that represent NaN.
    static let notANumber = "NaN"

    /// Whether digits and exponent form a valid decimal; stricter than Foundation's parser.
    static func isValid(_ digits: String, exponent: Int64) -> Bool {
        guard exponents.contains(exponent) else { return false }
        if digits == notANumber { return true }
        let magnitude = magnitude(digits)
        guard (1...39).contains(magnitude.utf8.count), magnitude.utf8.allSatisfy({ (48...57).contains($0) }) else {
            return false
        }
        return UInt128(magnitude) != nil
    }

    static func isNegative(_ digits: String) -> Bool { digits.utf8.first == UInt8(ascii: "-") }

    static func magnitude(_ digits: String) -> Substring { isNegative(digits) ? digits.dropFirst() : digits[...] }

    /// The decimal for valid digits and exponent.
    static func decimal(_ digits: String, exponent: Int64) throws -> Decimal {
        if digits == notANumber { return .nan }
        guard let significand = Decimal(string: String(magnitude(digits))) else { throw broken() }
        let result = Decimal(
            sign: isNegative(digits) ? .minus : .plus, exponent: Int(exponent), significand: significand)
        // `Decimal` moves trailing zeros to the exponent, which may overflow.
        guard !result.isNaN else { throw ArchiveError(.outOfRange, "the number does not fit Decimal") }
        return result
    }

    static func broken() -> ArchiveError { ArchiveError(.corrupt, "an invalid decimal") }
}

extension ByteSource {
    /// Reads a decimal after its tag.
    mutating func decimal(_ limits: ArchiveLimits) throws -> (digits: String, exponent: Int64) {
        let exponent = try zigzag()
        let digits = try stringValue(limits)
        guard DecimalText.isValid(digits, exponent: exponent) else { throw DecimalText.broken() }
        return (digits, exponent)
    }
}
