import KeyedArchive

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An object of one of Foundation's classes in a keyed graph, as Apple's systems write it into a typedstream.
struct StoredFoundationObject {
    private typealias Problem = TranslationProblem

    private let graph: ArchivedGraph
    private let record: ArchivedRecord

    init(_ graph: ArchivedGraph, _ record: ArchivedRecord) {
        self.graph = graph
        self.record = record
    }

    // MARK: Plain values

    /// The class and the values of an object that archives store as a plain value.
    static func plain(_ value: ArchivedValue) throws -> (classes: [String], parts: [TypedStreamPart]) {
        switch value {
        case .string(let text): return (["NSString", "NSObject"], [.group("+"), .text(text)])
        case .data(let data): return (["NSData", "NSObject"], bytes(data))
        case .date(let bits): return (["NSDate", "NSObject"], [.group("d"), .double(bits: bits)])
        case .brokenString: throw Problem("has half a character, which UTF-8 has not")
        default:
            guard let parts = number(value) else { throw Problem("has no form in a typedstream") }
            return (["NSNumber", "NSValue", "NSObject"], parts)
        }
    }

    private static func bytes(_ data: Data) -> [TypedStreamPart] {
        [
            .group("i"), .integer(Int64(data.count), UInt8(ascii: "i")), .group("[\(data.count)c]"), .bytes(data),
        ]
    }

    /// The type string of a number and the number.
    private static func number(_ value: ArchivedValue) -> [TypedStreamPart]? {
        switch value {
        case .bool(let value): typed("c", [.byte(value ? 1 : 0)])
        case .float(let bits): typed("f", [.float(bits: bits)])
        case .double(let bits): typed("d", [.double(bits: bits)])
        default:
            whole(value).flatMap { number in
                for type in ["i", "q", "Q"] {
                    if let part = TypedStreamPart.whole(number, type.utf8.first ?? 0) { return typed(type, [part]) }
                }
                return nil
            }
        }
    }

    private static func typed(_ type: String, _ parts: [TypedStreamPart]) -> [TypedStreamPart] {
        [.group("*"), .cString(type), .group(type)] + parts
    }

    /// An integer, or a Boolean, which archives store in the place of one.
    static func whole(_ value: ArchivedValue) -> Int128? {
        switch value {
        case .integer(let value): Int128(value)
        case .unsigned(let value): Int128(value)
        case .bool(let value): value ? 1 : 0
        default: nil
        }
    }

    /// A number of four bytes; nil if the value is none, or would lose digits.
    static func float(_ value: ArchivedValue) -> TypedStreamPart? {
        switch value {
        case .float(let bits): return .float(bits: bits)
        case .double(let bits):
            let value = Double(bitPattern: bits)
            let short = Float(value)
            return Double(short) == value || value.isNaN ? .float(bits: short.bitPattern) : nil
        default: return whole(value).flatMap { Float(exactly: $0) }.map { .float(bits: $0.bitPattern) }
        }
    }

    /// A number of eight bytes; nil if the value is none.
    static func double(_ value: ArchivedValue) -> TypedStreamPart? {
        switch value {
        case .double(let bits): .double(bits: bits)
        case .float(let bits): .double(bits: Double(Float(bitPattern: bits)).bitPattern)
        default: whole(value).flatMap { Double(exactly: $0) }.map { .double(bits: $0.bitPattern) }
        }
    }

    // MARK: Objects with keys

    private static let other = Problem("has other values than those of this class")

    /// The values; nil if the class has no form that is known here.
    func parts() throws -> [TypedStreamPart]? {
        switch record.typeName {
        case "NSNull": []
        case "NSString", "NSMutableString": [.group("+"), .text(try text())]
        case "NSData", "NSMutableData": Self.bytes(try data(record.first(of: StoredForm.data)))
        case "NSArray", "NSMutableArray": try elements(counted: "i", try list("NS.objects"))
        case "NSSet", "NSMutableSet": try elements(counted: "I", try list("NS.objects"))
        case "NSDictionary", "NSMutableDictionary": try dictionary()
        case "NSNumber": try number()
        case "NSDate":
            if let part = record.first(of: StoredForm.date).flatMap(Self.double) {
                [.group("d"), part]
            } else {
                throw Self.other
            }
        case "NSURL": try url()
        case "NSTimeZone": try one("NS.name") + (record["NS.data"] == nil ? [.group("@"), .null] : one("NS.data"))
        case "NSValue": try value()
        case "NSDecimalNumber": try decimal()
        case "NSAttributedString", "NSMutableAttributedString": try attributed()
        default: nil
        }
    }

    /// A group of one object.
    private func one(_ value: ArchivedValue?) throws -> [TypedStreamPart] {
        switch value {
        case .null?, .reference(0)?: [.group("@"), .null]
        case .reference(let index)?: [.group("@"), .object(index)]
        default: throw Self.other
        }
    }

    private func one(_ key: String) throws -> [TypedStreamPart] { try one(record[key]) }

    private func string(_ value: ArchivedValue?) throws -> String {
        guard case .string(let text)? = plain(value, StoredForm.string) else { throw Self.other }
        return text
    }

    private func data(_ value: ArchivedValue?) throws -> Data {
        guard case .data(let data)? = plain(value, StoredForm.data) else { throw Self.other }
        return data
    }

    /// What a value is or refers to: a plain value, or that of an object, such as a mutable string.
    private func plain(_ value: ArchivedValue?, _ form: [StaticString]) -> ArchivedValue? {
        guard case .reference(let index)? = value, graph.objects.indices.contains(index),
            let record = graph.objects[index].record
        else { return value.flatMap(graph.plain) }
        return record.first(of: form).flatMap(graph.plain)
    }

    private func text() throws -> String {
        let value = record.first(of: StoredForm.string).flatMap(graph.plain)
        guard case .data(let data)? = value else { return try string(value) }
        guard let text = String(validating: data, as: UTF8.self) else { throw Problem("has text that is not UTF-8") }
        return text
    }

    private func number() throws -> [TypedStreamPart] {
        let value = record.first(of: StoredForm.number).flatMap(graph.plain)
        guard let parts = value.flatMap(Self.number) else { throw Self.other }
        return parts
    }

    private func whole(_ key: String, in range: ClosedRange<Int128>) throws -> Int64 {
        let value = record[key].flatMap(graph.plain).flatMap(Self.whole)
        guard let value, range.contains(value) else { throw Self.other }
        return Int64(truncatingIfNeeded: value)
    }

    // MARK: Collections

    private func list(_ key: String) throws -> [ArchivedValue] {
        guard case .list(let elements)? = record[key] else { throw Self.other }
        return elements
    }

    private func elements(counted type: String, _ list: [ArchivedValue]) throws -> [TypedStreamPart] {
        guard let count = TypedStreamPart.whole(Int128(list.count), type.utf8.first ?? 0) else { throw Self.other }
        return try list.reduce(into: [.group(type), count]) { $0 += try one($1) }
    }

    private func dictionary() throws -> [TypedStreamPart] {
        let (keys, values) = (try list("NS.keys"), try list("NS.objects"))
        guard keys.count == values.count, let count = TypedStreamPart.whole(Int128(keys.count), UInt8(ascii: "i"))
        else {
            throw Self.other
        }
        return try zip(keys, values).reduce(into: [.group("i"), count]) { $0 += try one($1.0) + one($1.1) }
    }

    // MARK: Others

    private func url() throws -> [TypedStreamPart] {
        let relative = try one(record.first(of: StoredForm.url))
        let base = try one(record.first(of: StoredForm.urlBase) ?? .null)
        if case .null = base[1] { return [.group("c"), .byte(0)] + relative }
        return [.group("c"), .byte(1)] + base + relative
    }

    private func value() throws -> [TypedStreamPart] {
        switch record["NS.special"].flatMap(graph.plain).flatMap(Self.whole) {
        case 1: return Self.typed("{CGPoint=dd}", try numbers("NS.pointval", 2))
        case 2: return Self.typed("{CGSize=dd}", try numbers("NS.sizeval", 2))
        case 3: return Self.typed("{CGRect={CGPoint=dd}{CGSize=dd}}", try numbers("NS.rectval", 4))
        case 4:
            let range: ClosedRange<Int128> = 0...Int128(UInt64.max)
            let numbers = [try whole("NS.rangeval.location", in: range), try whole("NS.rangeval.length", in: range)]
            return Self.typed("{_NSRange=QQ}", numbers.map { .integer($0, UInt8(ascii: "Q")) })
        default: throw Problem("has a value of a kind that is not translated")
        }
    }

    /// The numbers in a text like `{{1, 2}, {3, 4}}`.
    private func numbers(_ key: String, _ count: Int) throws -> [TypedStreamPart] {
        let words = try string(record[key]).split { "{}, ".contains($0) }
        let numbers = words.compactMap { Double($0) }
        guard words.count == count, numbers.count == count else { throw Self.other }
        return numbers.map { .double(bits: $0.bitPattern) }
    }

    private func decimal() throws -> [TypedStreamPart] {
        guard let mantissa = record.first(of: StoredForm.decimalMantissa) else {
            throw Problem("has its digits as text, which is not translated")
        }
        let isBigEndian = record["NS.mantissa.bo"] == nil ? false : try whole("NS.mantissa.bo", in: 0...2) == 2
        let length = try record["NS.length"].map { _ in Int(try whole("NS.length", in: 0...8)) }
        let isNegative = try whole("NS.negative", in: 0...1)
        let parts = try DecimalParts(
            mantissa: try data(mantissa), isBigEndian: isBigEndian, length: length, isNegative: isNegative != 0)
        func part(_ type: StaticString, _ value: Int64) -> [TypedStreamPart] {
            let encoding = type.utf8Start.pointee
            let part: TypedStreamPart =
                encoding == UInt8(ascii: "C")
                ? .byte(UInt8(truncatingIfNeeded: value)) : .integer(value, encoding)
            return [.group("\(type)"), part]
        }
        return part("i", try whole("NS.exponent", in: -128...127)) + part("S", Int64(parts.length))
            + part("C", isNegative) + part("C", 1) + part("I", Int64(parts.words.count))
            + [.group("[\(parts.words.count)S]")]
            + parts.words.map { .integer(Int64($0), UInt8(ascii: "S")) }
    }

    // MARK: Attributed strings

    /// The text, and for each run the number of its attributes, its length, and the attributes where they are new.
    private func attributed() throws -> [TypedStreamPart] {
        var parts = try one("NSString")
        guard let attributes = record["NSAttributes"] else { return parts }
        var dictionaries = [attributes]
        var runs: [(length: Int, number: Int)] = []
        if let info = record["NSAttributeInfo"] {
            guard case .reference(let index) = attributes, graph.objects.indices.contains(index),
                case .list(let list)? = graph.objects[index]["NS.objects"]
            else { throw Self.other }
            dictionaries = list
            var numbers = try Self.numbers(try data(info))[...]
            while let length = numbers.popFirst(), let number = numbers.popFirst() { runs.append((length, number)) }
        } else {
            runs = [(try textLength(), 0)]
        }
        var next = 0
        for run in runs where run.length > 0 {
            guard let length = TypedStreamPart.whole(Int128(run.length), UInt8(ascii: "I")), run.number <= next,
                run.number < dictionaries.count
            else { throw Self.other }
            parts += [.group("iI"), .integer(Int64(run.number) + 1, UInt8(ascii: "i")), length]
            guard run.number == next else { continue }
            parts += try one(dictionaries[next])
            next += 1
        }
        return parts
    }

    /// The length of the text in UTF-16, as attributes count it.
    private func textLength() throws -> Int {
        guard case .reference(let index)? = record["NSString"], graph.objects.indices.contains(index) else {
            throw Self.other
        }
        switch graph.objects[index] {
        case .instance(let text): return try StoredFoundationObject(graph, text).text().utf16.count
        case .value(let value): return try string(value).utf16.count
        case .classRecord: throw Self.other
        }
    }

    /// Numbers in parts of 7 bits, the lowest first.
    private static func numbers(_ data: Data) throws -> [Int] {
        var numbers: [Int] = []
        var number = 0
        var shift = 0
        for byte in data {
            guard shift < 35 else { throw other }
            number |= Int(byte & 0x7F) << shift
            shift += 7
            if byte & 0x80 == 0 {
                numbers.append(number)
                (number, shift) = (0, 0)
            }
        }
        return numbers
    }
}
