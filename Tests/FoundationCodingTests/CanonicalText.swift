import Foundation
import FoundationCoding

/// Foundation's values in one line of text.
///
/// Strings are quoted; `i` integers, `d` the bits of doubles, `t` those of dates, `<hex>` bytes, `u` UUIDs,
/// `l"url"|base|` URLs, `[..]` arrays, `{..}` dictionaries sorted by key, `s(..)` sets, `os(..)` ordered sets, `z` time
/// zones, `v(..)` other values of C, `a(text length{attributes}..)` attributed strings.
enum CanonicalText {
    static func text(_ value: Any?) -> String {
        switch value as? NSObject {
        case nil, is NSNull: return "null"
        case let number as NSNumber: return text(number)
        case let string as NSString: return "\"\(escaped(string as String))\""
        case let data as NSData:
            let bytes = Data(bytes: data.bytes, count: data.length)
            return "<\(bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined())>"
        case let value as NSValue: return "v(\(value))"
        case let structure as CodedStructure: return "v\(structure.type)"
        case let zone as NSTimeZone: return "z\(zone.name)"
        case let string as NSAttributedString:
            var runs = ""
            let whole = NSRange(location: 0, length: string.length)
            string.enumerateAttributes(in: whole, options: .longestEffectiveRangeNotRequired) { attributes, range, _ in
                let pairs = attributes.map { "\"\(escaped($0.key.rawValue))\":\(text($0.value))" }.sorted()
                runs += " \(range.length){\(pairs.joined(separator: ","))}"
            }
            return "a(\(text(string.string as NSString))\(runs))"
        case let date as NSDate: return "t" + hex(date.timeIntervalSinceReferenceDate.bitPattern)
        case let uuid as NSUUID: return "u" + uuid.uuidString
        case let url as NSURL:
            return "l\"\(url.relativeString)\"|" + (url.baseURL.map { text($0 as NSURL) } ?? "")
        case let set as NSOrderedSet: return "os(\(set.map { text($0) }.joined(separator: ",")))"
        case let array as NSArray: return "[\(array.map { text($0) }.joined(separator: ","))]"
        case let set as NSSet: return "s(\(set.map { text($0) }.sorted().joined(separator: ",")))"
        case let dictionary as NSDictionary:
            return "{\(dictionary.map { "\(text($0.key)):\(text($0.value))" }.sorted().joined(separator: ","))}"
        case let other?: return "?\(type(of: other))"
        }
    }

    private static func text(_ number: NSNumber) -> String {
        if type(of: number) == type(of: NSNumber(value: true)) { return "\(number.boolValue)" }
        let type = String(cString: number.objCType)
        return type == "d" || type == "f" ? "d" + hex(number.doubleValue.bitPattern) : "i\(number.stringValue)"
    }

    static func escaped(_ text: String) -> String {
        text.unicodeScalars.map { $0.value >= 32 && $0.isASCII ? String($0) : "\\u{\(String($0.value, radix: 16))}" }
            .joined()
    }

    static func hex(_ bits: UInt64) -> String {
        let digits = String(bits, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
