import KeyedArchive

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Writes single values as JSON.
enum LeafJSON {
    static func append(_ value: ArchivedValue, to text: inout [UInt8]) {
        switch value {
        case .null: text += "null".utf8
        case .reference(let index): text += "{\"ref\":\(index)}".utf8
        case .bool(let value): text += (value ? "{\"bool\":true}" : "{\"bool\":false}").utf8
        case .integer(let value): text += "{\"int\":\"\(value)\"}".utf8
        case .unsigned(let value): text += "{\"int\":\"\(value)\"}".utf8
        case .wide(let value): text += "{\"int\":\"\(value)\"}".utf8
        case .unsignedWide(let value): text += "{\"int\":\"\(value)\"}".utf8
        case .double(let bits): append("{\"real\":\"", bits, "\",\"width\":8}", to: &text)
        case .float(let bits): append("{\"real\":\"", widened(bits), "\",\"width\":4}", to: &text)
        case .date(let bits): append("{\"date\":\"", bits, "\"}", to: &text)
        case .data(let data):
            text += "{\"data\":\"".utf8
            append(data, to: &text)
            text += "\"}".utf8
        case .string(let value):
            text += "{\"string\":".utf8
            JSONText.append(value, to: &text)
            text += "}".utf8
        case .brokenString(let units):
            text += "{\"string\":".utf8
            JSONText.append(broken: units, to: &text)
            text += "}".utf8
        case .uuid, .url, .decimal, .scalars: appendCompact(value, to: &text)
        case .present, .list, .set, .map, .record, .shared:
            // Occurs only as a dictionary key in a compact archive, where its description loses no order.
            JSONText.append("\(value)", to: &text)
        }
    }

    /// Writes kinds of values that only the compact format has.
    private static func appendCompact(_ value: ArchivedValue, to text: inout [UInt8]) {
        switch value {
        case .uuid(let value): text += "{\"uuid\":\"\(value.uuidString)\"}".utf8
        case .url(let address, let base):
            text += "{\"url\":".utf8
            JSONText.append(address, to: &text)
            if let base {
                text += ",\"base\":".utf8
                JSONText.append(base, to: &text)
            }
            text += "}".utf8
        case .decimal(let digits, let exponent):
            text += "{\"decimal\":".utf8
            JSONText.append(digits, to: &text)
            text += ",\"exponent\":\(exponent)}".utf8
        case .scalars(let scalars):
            text += "{\"scalars\":".utf8
            JSONText.append(scalars.typeName, to: &text)
            text += ",\"data\":\"".utf8
            append(scalars.bytes, to: &text)
            text += "\"}".utf8
        default: break
        }
    }

    private static func append(
        _ before: StaticString, _ bits: UInt64, _ after: StaticString, to text: inout [UInt8]
    ) {
        text += UnsafeBufferPointer(start: before.utf8Start, count: before.utf8CodeUnitCount)
        for shift in stride(from: 60, through: 0, by: -4) { text.append(JSONText.digits[Int(bits >> shift & 0xF)]) }
        text += UnsafeBufferPointer(start: after.utf8Start, count: after.utf8CodeUnitCount)
    }

    private static func append(_ data: Data, to text: inout [UInt8]) {
        text.reserveCapacity(text.count + 2 * data.count + 2)
        for byte in data {
            text.append(JSONText.digits[Int(byte >> 4)])
            text.append(JSONText.digits[Int(byte & 0xF)])
        }
    }

    /// The bits of a `Float` converted to a `Double`.
    ///
    /// Arithmetic would make every NaN quiet.
    private static func widened(_ bits: UInt32) -> UInt64 {
        let value = Float(bitPattern: bits)
        guard value.isNaN else { return Double(value).bitPattern }
        return UInt64(bits >> 31) << 63 | 0x7FF << 52 | UInt64(bits & 0x7F_FFFF) << 29
    }
}
