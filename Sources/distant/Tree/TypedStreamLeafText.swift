import KeyedArchive

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Shows values of a typedstream in one line for people, and objects of some of Foundation's classes as well.
struct TypedStreamLeafText {
    private let graph: TypedStreamGraph
    /// The number of references to each label; 2 means more than one.
    private var uses: [UInt8]

    /// Longer content is shown in lines of its own, where the file has it.
    private static let longest = 1 << 10

    init(_ graph: TypedStreamGraph) {
        self.graph = graph
        uses = Array(repeating: 0, count: graph.labels.count)
        count(graph.groups)
        for case .object(let object) in graph.labels { count(object.groups) }
    }

    private mutating func count(_ groups: TypedStreamGroups) {
        for group in groups {
            for case .label(let label) in group.values where uses[label] < 2 { uses[label] += 1 }
        }
    }

    /// Whether an object is referred to more than once.
    func isShared(_ label: Int) -> Bool { uses[label] > 1 }

    func isObject(_ label: Int) -> Bool { if case .object = graph.labels[label] { true } else { false } }

    // MARK: Objects

    func className(ofObject label: Int) -> String {
        guard case .object(let object) = graph.labels[label], let type = object.classLabel else {
            return "an object of no class"
        }
        return className(type)
    }

    private func className(_ label: Int) -> String {
        guard case .type(let type) = graph.labels[label] else { return "" }
        return PlainText.name(text(type.name))
    }

    /// An object whose content fits on a line, with its class; nil for all others.
    func shortForm(_ label: Int) -> String? {
        guard case .object(let object) = graph.labels[label], let type = object.classLabel,
            case .type(let content) = graph.labels[type], let name = content.name.string
        else { return nil }
        let value: String?
        switch name {
        case "NSString", "NSMutableString": value = string(object.groups)
        case "NSNumber": value = number(object.groups)
        case "NSDate": value = date(object.groups)
        case "NSData", "NSMutableData": value = data(object.groups)
        case "NSNull": value = object.groups.first { _ in true } == nil ? "" : nil
        default: value = nil
        }
        return value.map { $0.isEmpty ? name : "\(name) \($0)" }
    }

    /// The only value of each group, if there are as many and each has the type.
    private func values(_ groups: TypedStreamGroups, _ count: Int) -> [(type: String, value: TypedStreamValue)]? {
        var result: [(type: String, value: TypedStreamValue)] = []
        for group in groups {
            var values = group.values.makeIterator()
            guard result.count < count, let value = values.next(), values.next() == nil else { return nil }
            result.append((text(group.type), value))
        }
        return result.count == count ? result : nil
    }

    /// The text of an object of `NSString`; nil for others.
    func string(ofObject label: Int) -> String? {
        guard case .object(let object) = graph.labels[label], className(ofObject: label).hasSuffix("String") else {
            return nil
        }
        return string(object.groups)
    }

    private func string(_ groups: TypedStreamGroups) -> String? {
        guard case .text(let text)? = values(groups, 1)?[0].value else { return nil }
        return quoted(text)
    }

    private func number(_ groups: TypedStreamGroups) -> String? {
        guard let values = values(groups, 2), case .label(let label) = values[0].value,
            case .cString(let type) = graph.labels[label], text(type) == values[1].type
        else { return nil }
        switch values[1].value {
        case .integer, .unsigned, .bool, .float, .double: return "\(text(values[1].value)) (\(values[1].type))"
        default: return nil
        }
    }

    private func date(_ groups: TypedStreamGroups) -> String? {
        guard case .double(let bits)? = values(groups, 1)?[0].value else { return nil }
        return LeafText.text(.date(bits: bits))
    }

    private func data(_ groups: TypedStreamGroups) -> String? {
        guard let values = values(groups, 2), values[0].type == "i", case .bytes = values[1].value else { return nil }
        return text(values[1].value)
    }

    /// The bytes of an object of `NSData`.
    func data(ofObject label: Int) -> ArchivedText? {
        guard case .object(let object) = graph.labels[label], className(ofObject: label).hasSuffix("Data"),
            case .bytes(let bytes, _)? = values(object.groups, 2)?[1].value
        else { return nil }
        return bytes
    }

    // MARK: Values

    func text(_ value: TypedStreamValue) -> String {
        switch value {
        case .null: "nil"
        case .nothing: "nothing"
        case .bool(let value): "\(value)"
        case .integer(let value): "\(value)"
        case .unsigned(let value): "\(value)"
        case .float(let bits): ArchivedValue.float(bits: bits).description
        case .double(let bits): ArchivedValue.double(bits: bits).description
        case .text(let text): quoted(text)
        case .atom(let text): text.map { "atom \(quoted($0))" } ?? "nil"
        case .selector(let text): text.map { "selector \(PlainText.name(self.text($0)))" } ?? "nil"
        case .label(let label): reference(label)
        case .bytes(let bytes, _): self.bytes(bytes)
        case .emptyArray(let count, let type): "\(count) × \(PlainText.name(text(type)))"
        case .array, .endArray, .structure, .endStructure: ""
        }
    }

    private func reference(_ label: Int) -> String {
        switch graph.labels[label] {
        case .object: className(ofObject: label)
        case .type: "class \(className(label))"
        case .cString(let text): quoted(text)
        }
    }

    private func bytes(_ bytes: ArchivedText) -> String {
        let content = bytes.withBytes { Data($0.prefix(Self.longest)) }
        let kind = KnownContent(content).map { ", \($0.rawValue)" } ?? ""
        let string = KnownContent.oldString(content).map { ": \(PlainText.quoted($0))" } ?? ""
        return LeafText.bytes(content, count: bytes.count) + kind + string
    }

    /// The beginning of a text as far as a name may need it, for which bytes that are not UTF-8 are replaced.
    func text(_ text: ArchivedText) -> String {
        text.withBytes { String(decoding: $0.prefix(Self.longest), as: UTF8.self) }
    }

    private func quoted(_ text: ArchivedText) -> String {
        guard text.count > Self.longest else {
            guard let string = text.string else {
                return LeafText.bytes(text.data, count: text.count) + ", not UTF-8"
            }
            return PlainText.quoted(string)
        }
        return PlainText.quoted(self.text(text), byteCount: text.count)
    }
}
