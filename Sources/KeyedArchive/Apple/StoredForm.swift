#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How archivers store Foundation's plain values as objects: the keys under which such an object has its content, in the
/// order in which they are looked for.
///
/// This list is the only one: the reader for `ObjectCoding` and `Codable` types and the one for `NSCoding` classes use it,
/// so that both open the same objects.
package enum StoredForm {
    /// NSString: a string, or data with its UTF-8.
    package static let string: [StaticString] = ["NS.string", "NS.bytes"]
    /// NSData.
    package static let data: [StaticString] = ["NS.data", "NS.bytes"]
    /// NSNumber; most archivers store plain numbers instead.
    package static let number: [StaticString] = ["NS.number", "NS.boolval", "NS.intval", "NS.dblval"]
    /// NSDate: seconds since 2001; without a key by sequential archivers.
    package static let date: [StaticString] = ["NS.time", "$0"]
    /// NSUUID: 16 bytes.
    package static let uuid: [StaticString] = ["NS.uuidbytes"]
    /// NSURL: what is relative to `urlBase`.
    package static let url: [StaticString] = ["NS.relative"]
    /// NSURL: another NSURL, or nil.
    package static let urlBase: [StaticString] = ["NS.base"]
    /// NSDecimalNumber without `decimalMantissa`: its text.
    package static let decimalText: [StaticString] = ["NS.string", "$0"]
    /// NSDecimalNumber: its digits as a number, which `StoredDecimal` reads.
    package static let decimalMantissa: [StaticString] = ["NS.mantissa"]

    /// What NSDecimalNumber stores for a number, in order.
    package static func decimal(_ parts: DecimalParts, exponent: Int64) -> [(key: String, value: ArchivedValue)] {
        [
            ("NS.exponent", .integer(exponent)), ("NS.length", .integer(Int64(parts.length))),
            ("NS.negative", .bool(parts.isNegative)), ("NS.compact", .bool(true)),
            ("NS.mantissa.bo", .integer(1)), ("NS.mantissa", .data(Data(parts.mantissa))),
        ]
    }
}

extension ArchivedRecord {
    /// The value under the first of some keys that is there.
    package func first(of keys: [StaticString]) -> ArchivedValue? {
        for key in keys {
            if let position = storedKeys.firstIndex(of: "\(key)"), position < values.count { return values[position] }
        }
        return nil
    }
}
