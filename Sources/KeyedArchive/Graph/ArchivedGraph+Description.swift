#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The text, shortened if it is long.
private func shortened(_ text: String) -> String {
    text.utf8.count <= 512 ? text : text.prefix(128) + "…"
}

extension ArchivedGraph: CustomStringConvertible {
    /// One line for each root and each object; objects are shown as `#number`, shared values as `&number`.
    ///
    /// Long texts are shortened, as they may occur many times.
    public var description: String {
        var text = ""
        for (key, value) in zip(lentRoots.keys, lentRoots.values) { text += "\(shortened(key)) = \(value)\n" }
        for number in objects.indices { text += "#\(number) = \(objects.lent(number))\n" }
        for number in sharedValues.indices { text += "&\(number) = \(sharedValues.lent(number))\n" }
        return text
    }
}

extension ArchivedObject: CustomStringConvertible {
    /// The object in one line.
    public var description: String {
        switch self {
        case .instance(let record): record.description
        case .value(let value): value.description
        case .classRecord(let type): "class \((type.classes ?? [type.name]).map(shortened).joined(separator: ": "))"
        }
    }
}

extension ArchivedRecord: CustomStringConvertible {
    /// Name, keys and values in one line.
    public var description: String { text(levels: ArchivedValue.mostShown) }

    fileprivate func text(levels: Int) -> String {
        let keys = keys
        let fields =
            keys.isEmpty
            ? values.map { $0.text(levels) } : zip(keys, values).map { "\(shortened($0)): \($1.text(levels))" }
        return "\(shortened(typeName)){\(fields.joined(separator: ", "))}"
    }
}

extension ArchivedValue: CustomStringConvertible {
    /// The value in one line; objects as `#number`, and “…” for what is nested very deep.
    public var description: String { text(Self.mostShown) }

    /// The most levels that are shown; each takes stack.
    fileprivate static let mostShown = 64

    fileprivate func text(_ levels: Int) -> String {
        switch self {
        case .present, .list, .set, .map, .record: levels > 0 ? nested(levels - 1) : "…"
        default: leaf
        }
    }

    private func nested(_ levels: Int) -> String {
        switch self {
        case .present(let value): "some(\(value.text(levels)))"
        case .list(let values): "[\(Self.text(values, levels))]"
        case .set(let values): "set[\(Self.text(values, levels))]"
        case .map(let pairs):
            "[\(pairs.map { "\($0.key.text(levels)): \($0.value.text(levels))" }.joined(separator: ", "))]"
        case .record(let record): record.text(levels: levels)
        default: leaf
        }
    }

    private static func text(_ values: [ArchivedValue], _ levels: Int) -> String {
        values.map { $0.text(levels) }.joined(separator: ", ")
    }

    private var leaf: String {
        switch self {
        case .null: "nil"
        case .bool(let value): "\(value)"
        case .integer(let value): "\(value)"
        case .unsigned(let value): "\(value)"
        case .wide(let value): "\(value)"
        case .unsignedWide(let value): "\(value)"
        case .float(let bits): "\(Float(bitPattern: bits))"
        case .double(let bits): "\(Double(bitPattern: bits))"
        case .string(let value): shortened(value).debugDescription
        case .brokenString(let units): shortened(String(decoding: units, as: UTF16.self)).debugDescription
        case .data(let data): "<\(data.count) bytes>"
        case .date(let bits): "date(\(Double(bitPattern: bits)))"
        case .uuid(let value): value.uuidString
        case .url(let text, let base): "url(\(shortened(text))\(base.map { ", base: \(shortened($0))" } ?? ""))"
        case .decimal(let digits, let exponent): "decimal(\(digits)e\(exponent))"
        case .scalars(let scalars): "<\(scalars.count) \(scalars.typeName)>"
        case .present, .list, .set, .map, .record: ""
        case .reference(let number): "#\(number)"
        case .shared(let number): "&\(number)"
        }
    }
}
