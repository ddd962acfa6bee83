import Foundation
import KeyedArchive

/// The objects of a typedstream in the form of `CanonicalText`, made of its generic graph.
struct TypedStreamContent {
    let graph: TypedStreamGraph

    /// The classes that `text(_:)` knows.
    private static let classes: Set<String> = [
        "NSObject", "NSString", "NSMutableString", "NSData", "NSMutableData", "NSArray", "NSMutableArray", "NSSet",
        "NSMutableSet", "NSDictionary", "NSMutableDictionary", "NSValue", "NSNumber", "NSDate", "NSCalendarDate",
        "NSTimeZone", "NSURL", "NSAttributedString", "NSMutableAttributedString", "NSDecimalNumberPlaceholder",
    ]

    /// Whether the archive is an object that consists of objects of Foundation's classes only, and not too deep.
    var isKnown: Bool {
        guard !graph.groups.contains(where: { $0.type.description != "@" }), !graph.labels.isEmpty else { return false }
        return graph.labels.count < 10_000
            && graph.labels.allSatisfy { label in
                if case .object(let object) = label { return object.classLabel != nil }
                if case .type(let type) = label { return Self.classes.contains(type.name.description) }
                return true
            }
    }

    /// The objects that belong to no object.
    var roots: [String] {
        graph.groups.flatMap { group in group.values.map { text($0) } }
    }

    private func text(_ value: TypedStreamValue) -> String {
        guard case .label(let label) = value else { return "null" }
        return text(label)
    }

    private func text(_ label: Int) -> String {
        guard case .object(let object) = graph.labels[label], let classLabel = object.classLabel,
            case .type(let type) = graph.labels[classLabel]
        else { return "?" }
        let values = object.groups.flatMap { Array($0.values) }
        let types = object.groups.map(\.type.description)
        switch type.name.description {
        case "NSString", "NSMutableString":
            guard case .text(let text) = values[0] else { return "\"\"" }
            return "\"\(CanonicalText.escaped(text.description))\""
        case "NSData", "NSMutableData":
            guard case .bytes(let bytes, _) = values[1] else { return "?" }
            return "<\(bytes.data.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined())>"
        case "NSArray", "NSMutableArray": return "[\(values.dropFirst().map(text).joined(separator: ","))]"
        case "NSSet", "NSMutableSet": return "s(\(values.dropFirst().map(text).sorted().joined(separator: ",")))"
        case "NSDictionary", "NSMutableDictionary": return "{\(pairs(Array(values.dropFirst())))}"
        case "NSNumber": return number(values[1])
        case "NSDate", "NSCalendarDate":
            guard case .double(let bits) = values[0] else { return "?" }
            return "t" + CanonicalText.hex(bits)
        case "NSTimeZone": return "z" + text(values[0]).filter { $0 != "\"" }
        case "NSURL":
            guard case .integer(0) = values[0] else { return "l\(text(values[2]))|\(text(values[1]))" }
            return "l\(text(values[1]))|".replacingOccurrences(of: "\\u{e9}", with: "%C3%A9")
        case "NSAttributedString", "NSMutableAttributedString": return attributed(types, values)
        default: return "?\(type.name)"
        }
    }

    private func pairs(_ values: [TypedStreamValue]) -> String {
        stride(from: 0, to: values.count, by: 2).map { "\(text(values[$0])):\(text(values[$0 + 1]))" }.sorted()
            .joined(separator: ",")
    }

    private func number(_ value: TypedStreamValue) -> String {
        switch value {
        case .integer(let value): "i\(value)"
        case .unsigned(let value): "i\(value)"
        case .float(let bits): "d" + CanonicalText.hex(Double(Float(bitPattern: bits)).bitPattern)
        case .double(let bits): "d" + CanonicalText.hex(bits)
        case .bool(let value): "\(value)"
        default: "?"
        }
    }

    private func attributed(_ types: [String], _ values: [TypedStreamValue]) -> String {
        var result = "a(" + text(values[0])
        var known: [String] = []
        var position = 1
        for type in types.dropFirst() where type == "iI" {
            guard case .integer(let number) = values[position], case .integer(let length) = values[position + 1] else {
                return "?"
            }
            position += 2
            if number > known.count {
                known.append(text(values[position]))
                position += 1
            }
            result += " \(length)\(known[Int(number) - 1])"
        }
        return result + ")"
    }
}
