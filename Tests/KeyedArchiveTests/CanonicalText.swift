import Foundation

@testable import KeyedArchive

/// The values of a graph in Apple's layout in one line of text; Foundation's containers appear as their content.
///
/// Strings are quoted; `i` integers, `d` the bits of doubles, `t` those of dates, `<hex>` bytes, `u` UUIDs, `l"url"|base|`
/// URLs, `[..]` arrays, `{..}` dictionaries sorted by key, `s(..)` sets, `os(..)` ordered ones.
struct CanonicalText {
    let graph: ArchivedGraph

    init(_ graph: ArchivedGraph) { self.graph = graph }

    func text(_ value: ArchivedValue) -> String {
        switch value {
        case .null: return "null"
        case .bool(let value): return "\(value)"
        case .integer(let value): return "i\(value)"
        case .unsigned(let value): return "i\(value)"
        case .wide(let value): return "i\(value)"
        case .float(let bits): return Self.double(Double(Float(bitPattern: bits)))
        case .double(let bits): return Self.double(Double(bitPattern: bits))
        case .date(let bits): return "t" + Self.hex(bits)
        case .string(let value): return "\"\(Self.escaped(value))\""
        case .data(let data): return Self.hex(data)
        case .list(let values): return "[\(values.map(text).joined(separator: ","))]"
        case .shared(let number): return text(graph.sharedValues[number])
        case .reference(let number): return object(graph.objects[number])
        default: return "?\(value)"
        }
    }

    static func escaped(_ text: String) -> String {
        text.unicodeScalars.map { $0.value >= 32 && $0.isASCII ? String($0) : "\\u{\(String($0.value, radix: 16))}" }
            .joined()
    }

    static func hex(_ data: Data) -> String {
        "<\(data.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined())>"
    }

    private static func hex(_ bits: UInt64) -> String {
        let digits = String(bits, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    static func double(_ value: Double) -> String { "d" + hex(value.bitPattern) }

    private func elements(_ record: ArchivedRecord, _ key: String) -> [String] {
        guard case .list(let values)? = record[key] else {
            // Some archives have one key for each element.
            var values: [String] = []
            let prefix = key == "NS.objects" ? "NS.object" : "NS.key"
            while let value = record["\(prefix).\(values.count)"] { values.append(text(value)) }
            return values
        }
        return values.map(text)
    }

    private func object(_ object: ArchivedObject) -> String {
        guard let record = object.record else { return object.plainValue.map(text) ?? "class" }
        func plain(_ key: String) -> String { record[key].map(text) ?? "null" }
        switch record.typeName {
        case "NSArray", "NSMutableArray": return "[\(elements(record, "NS.objects").joined(separator: ","))]"
        case "NSSet", "NSMutableSet": return "s(\(elements(record, "NS.objects").sorted().joined(separator: ",")))"
        case "NSOrderedSet", "NSMutableOrderedSet":
            return "os(\(elements(record, "NS.objects").joined(separator: ",")))"
        case "NSDictionary", "NSMutableDictionary":
            let pairs = zip(elements(record, "NS.keys"), elements(record, "NS.objects")).map { "\($0):\($1)" }
            return "{\(pairs.sorted().joined(separator: ","))}"
        case "NSString", "NSMutableString": return plain("NS.string")
        case "NSData", "NSMutableData": return record["NS.data"].map(text) ?? plain("NS.bytes")
        case "NSDate": return "t" + plain("NS.time").dropFirst()
        case "NSNull": return "null"
        case "NSURL":
            let base = plain("NS.base")
            return "l\(plain("NS.relative"))|\(base == "null" ? "" : base)"
        case "NSUUID":
            guard case .data(let bytes)? = record["NS.uuidbytes"], bytes.count == 16 else { return "u?" }
            return "u" + UUID(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) }).uuidString
        default: return "?\(record.typeName)"
        }
    }
}
