import KeyedArchive

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Shows values in one line for people, containers without their content.
enum LeafText {
    static func text(_ object: ArchivedObject) -> String {
        switch object {
        case .instance(let record):
            PlainText.name(record.typeName) + (seconds(of: record).map { " " + date($0) } ?? "")
        case .classRecord(let type): "class \(PlainText.name(type.name))"
        case .value(let value): text(value)
        }
    }

    static func text(_ value: ArchivedValue) -> String {
        switch value {
        case .null, .bool, .integer, .unsigned, .wide, .unsignedWide, .float, .double, .reference, .shared:
            value.description
        case .string(let value): PlainText.quoted(value)
        case .brokenString(let units):
            PlainText.quoted(String(decoding: units, as: UTF16.self))
                + " (in UTF-16, with unpaired surrogates)"
        case .data(let data): bytes(data)
        case .date(let bits): date(Double(bitPattern: bits))
        case .uuid(let value): value.uuidString
        case .url(let address, let base):
            "URL " + PlainText.quoted(address) + (base.map { " relative to \(PlainText.quoted($0))" } ?? "")
        case .decimal(let digits, let exponent): decimal(digits, exponent)
        case .list(let values): count(values.count, "element")
        case .set(let values): "set of \(count(values.count, "element"))"
        case .map(let pairs): count(pairs.count, "entr", "y", "ies")
        case .scalars(let scalars): "\(scalars.count) × \(scalars.typeName)"
        case .record(let record): record.typeName.isEmpty ? "a value with keys" : PlainText.name(record.typeName)
        case .present: "an optional that is there"
        }
    }

    private static func count(_ count: Int, _ word: String, _ one: String = "", _ many: String = "s") -> String {
        "\(count) \(word)\(count == 1 ? one : many)"
    }

    /// The first bytes in hexadecimal, and the number of all of them.
    ///
    /// - Parameter all: The number, if `data` has only the first ones.
    static func bytes(_ data: Data, count all: Int? = nil) -> String {
        let all = all ?? data.count
        var text: [UInt8] = []
        for byte in data.prefix(32) {
            text.append(JSONText.digits[Int(byte >> 4)])
            text.append(JSONText.digits[Int(byte & 0xF)])
        }
        return "<\(String(decoding: text, as: UTF8.self))\(all > 32 ? "…" : "")>"
            + " (\(count(all, "byte")))"
    }

    private static func decimal(_ digits: String, _ exponent: Int64) -> String {
        exponent == 0 ? PlainText.name(digits) : "\(PlainText.name(digits))e\(exponent)"
    }

    /// The seconds of an `NSDate` since 2001-01-01T00:00:00Z; nil for other objects.
    static func seconds(of record: ArchivedRecord) -> Double? {
        guard record.typeName == "NSDate", record.keys == ["NS.time"] else { return nil }
        switch record.values[0] {
        case .double(let bits): return Double(bitPattern: bits)
        case .float(let bits): return Double(Float(bitPattern: bits))
        case .integer(let value): return Double(value)
        default: return nil
        }
    }

    private static func date(_ seconds: Double) -> String {
        // The years 1 to 9999: other values are most likely not dates.
        guard seconds > -63_113_904_000, seconds < 252_423_993_600 else {
            return "date \(seconds) s after 2001-01-01T00:00:00Z"
        }
        let text = Date(timeIntervalSinceReferenceDate: seconds.rounded(.down)).formatted(.iso8601)
        let fraction = seconds - seconds.rounded(.down)
        return fraction == 0 ? text : "\(text) + \(fraction) s"
    }
}
