import KeyedArchive

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Makes a keyed archive of a typedstream of Foundation's objects: what `NSKeyedArchiver` would have written for them.
///
/// Each object becomes one object, so what is shared stays shared. Other classes are refused by name, since only their own
/// code knows under which keys their values belong. Nothing recurses: an object gets its place where it is met first, and
/// its content later. So what nothing refers to any more is left out.
struct KeyedTranslation {
    private let stream: TypedStreamGraph
    private var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
    /// The place in `graph` of each object of the stream that was met, by label.
    private var places: [Int]
    /// Foundation's class of each object, by label.
    private var classes: [TranslatedClass?]
    /// The objects that were met, in that order.
    private var met: [Int] = []

    /// The keyed archive as a graph.
    ///
    /// - Throws: `ArchiveError` that names classes or objects that cannot be translated.
    static func graph(of stream: TypedStreamGraph) throws -> ArchivedGraph {
        var translation = KeyedTranslation(stream)
        try translation.findClasses()
        try translation.placeRoot()
        var next = 0
        while next < translation.met.count {
            let label = translation.met[next]
            next += 1
            guard case .object(let object) = stream.labels[label], let type = translation.classes[label] else {
                continue
            }
            do { try translation.fill(label, object, type) } catch let problem as Problem {
                throw ArchiveError(.unsupported, "\(type.rawValue) #\(label): \(problem.message)")
            }
        }
        return translation.graph
    }

    private init(_ stream: TypedStreamGraph) {
        self.stream = stream
        places = Array(repeating: 0, count: stream.labels.count)
        classes = Array(repeating: nil, count: stream.labels.count)
    }

    private typealias Problem = TranslationProblem

    // MARK: Places

    /// Finds the class of each object.
    private mutating func findClasses() throws {
        var others: [String] = []
        for (label, content) in stream.labels.enumerated() {
            guard case .object(let object) = content else { continue }
            let name = names(object.classLabel).first ?? "an object of no class"
            classes[label] = TranslatedClass(rawValue: name)
            if classes[label] == nil, !others.contains(name) { others.append(name) }
            guard others.count < 8 else { break }
        }
        guard others.isEmpty else {
            let list = others.map { PlainText.name($0) }.joined(separator: ", ")
            throw ArchiveError(
                .unsupported, "only objects of some of Foundation's classes are translated, and not those of: \(list)")
        }
    }

    private mutating func placeRoot() throws {
        var top = stream.groups.makeIterator()
        guard let group = top.next(), top.next() == nil, case let values = Array(group.values.prefix(2)),
            values.count == 1,
            let root = reference(values[0])
        else {
            throw ArchiveError(.unsupported, "a keyed archive has one root, but this is not one object")
        }
        graph.setRoot(.reference(try place(of: root)), forKey: "root")
    }

    /// The label of an object, or -1 for nil; nil for another value.
    private func reference(_ value: TypedStreamValue?) -> Int? {
        switch value {
        case .null?: return -1
        case .label(let label)?: if case .object = stream.labels[label] { return label } else { return nil }
        default: return nil
        }
    }

    /// The place of an object, which it gets where it is met first; 0 for nil.
    private mutating func place(of label: Int) throws -> Int {
        guard label >= 0 else { return 0 }
        guard places[label] == 0, let type = classes[label], case .object(let object) = stream.labels[label] else {
            return places[label]
        }
        met.append(label)
        if type.isPlain && !isNullText(object) {
            places[label] = try graph.add(.value(.null))
        } else {
            let superclasses = type.keyed?.superclasses ?? Array(names(object.classLabel).dropFirst())
            places[label] = graph.add(
                className: type.keyed?.name ?? type.rawValue, superclasses: superclasses, fields: [])
        }
        return places[label]
    }

    /// The names of a class and its superclasses.
    private func names(_ label: Int?) -> [String] {
        var names: [String] = []
        var next = label
        // A broken file may have a class that is its own superclass.
        while let label = next, names.count < 16, case .type(let type) = stream.labels[label] {
            names.append(type.name.description)
            next = type.superclass
        }
        return names
    }

    // MARK: Content

    private mutating func fill(_ label: Int, _ object: TypedStreamObject, _ type: TranslatedClass) throws {
        var values: [TypedStreamValue] = []
        var types: [ArchivedText] = []
        for group in object.groups {
            values.append(contentsOf: group.values)
            types.append(group.type)
        }
        switch type {
        case .string: try fillString(label, values)
        case .data: replace(label, .value(.data(try data(values))))
        case .number: replace(label, .value(try number(values, types)))
        case .mutableString: set(label, [("NS.string", .string(try string(values)))])
        case .mutableData: set(label, [("NS.data", .data(try data(values)))])
        case .null: guard values.isEmpty else { throw Self.other }
        case .array, .mutableArray, .set, .mutableSet:
            set(label, [("NS.objects", .list(try elements(values, perEntry: 1)))])
        case .dictionary, .mutableDictionary:
            let all = try elements(values, perEntry: 2)
            let keys = stride(from: 0, to: all.count, by: 2).map { all[$0] }
            let objects = stride(from: 1, to: all.count, by: 2).map { all[$0] }
            set(label, [("NS.keys", .list(keys)), ("NS.objects", .list(objects))])
        case .date:
            guard values.count == 1, case .double(let bits) = values[0] else { throw Self.other }
            set(label, [("NS.time", .double(bits: bits))])
        case .calendarDate:
            // How the date is shown has no place in NSDate.
            guard values.count == 3, case .double(let bits) = values[0] else { throw Self.other }
            set(label, [("NS.time", .double(bits: bits))])
        case .decimal: set(label, try decimal(values))
        case .url: try fillURL(label, values)
        case .timeZone:
            guard values.count == 2, let name = reference(values[0]), let data = reference(values[1]) else {
                throw Self.other
            }
            set(
                label,
                [("NS.name", .reference(try place(of: name))), ("NS.data", .reference(try place(of: data)))])
        case .value: try fillValue(label, values, types)
        case .attributedString, .mutableAttributedString: try fillAttributed(label, values)
        }
    }

    private static var other: Problem { Problem("has other values than those of this class") }

    private mutating func replace(_ label: Int, _ object: ArchivedObject) {
        // The place was made for it.
        try? graph.replace(places[label], with: object)
    }

    private mutating func set(_ label: Int, _ fields: [(key: String, value: ArchivedValue)]) {
        guard let record = graph.objects[places[label]].record else { return }
        replace(
            label,
            .instance(
                ArchivedRecord(
                    typeName: record.typeName, classIndex: record.classIndex, storedKeys: fields.map(\.key),
                    values: fields.map(\.value))))
    }

    private func string(_ values: [TypedStreamValue]) throws -> String {
        guard values.count == 1, case .text(let text) = values[0] else { throw Self.other }
        guard let string = text.string else { throw Problem("has text that is not UTF-8") }
        return string
    }

    private mutating func fillString(_ label: Int, _ values: [TypedStreamValue]) throws {
        let text = try string(values)
        guard text == Self.nullText else { return replace(label, .value(.string(text))) }
        set(label, [("NS.bytes", .data(Data(text.utf8)))])
    }

    /// A text that means nil as a plain value of a keyed archive.
    private static let nullText = "$null"

    /// Whether the object is a string with that text, which needs an object of its own.
    private func isNullText(_ object: TypedStreamObject) -> Bool {
        var groups = object.groups.makeIterator()
        guard let group = groups.next(), case .text(let text)? = group.values.first(where: { _ in true }) else {
            return false
        }
        return text.count == Self.nullText.utf8.count && text.string == Self.nullText
    }

    private func data(_ values: [TypedStreamValue]) throws -> Data {
        guard values.count == 2 else { throw Self.other }
        switch values[1] {
        case .bytes(let bytes, _): return bytes.data
        case .emptyArray(0, _): return Data()
        default: throw Self.other
        }
    }

    /// An integer of any type.
    private func whole(_ value: TypedStreamValue) -> Int? {
        switch value {
        case .integer(let value): Int(exactly: value)
        case .unsigned(let value): Int(exactly: value)
        default: nil
        }
    }

    private mutating func elements(_ values: [TypedStreamValue], perEntry: Int) throws -> [ArchivedValue] {
        guard let first = values.first, let count = whole(first), count >= 0, values.count - 1 == count * perEntry
        else {
            throw Self.other
        }
        return try values.dropFirst().map {
            guard let label = reference($0) else { throw Self.other }
            return .reference(try place(of: label))
        }
    }

    // MARK: Numbers and values

    /// The type string that a value has, of its own group and in front.
    private func type(_ values: [TypedStreamValue], _ types: [ArchivedText]) throws -> String {
        guard case .label(let label)? = values.first, case .cString(let text) = stream.labels[label],
            types.count == 2, types[1] == text, let type = text.string
        else { throw Self.other }
        return type
    }

    private func number(_ values: [TypedStreamValue], _ types: [ArchivedText]) throws -> ArchivedValue {
        _ = try type(values, types)
        guard values.count == 2 else { throw Self.other }
        return switch values[1] {
        case .bool(let value): .bool(value)
        case .integer(let value): .integer(value)
        case .unsigned(let value): .unsigned(value)
        case .float(let bits): .float(bits: bits)
        case .double(let bits): .double(bits: bits)
        default: throw Self.other
        }
    }

    /// The exponent, the count of words, whether it is negative, whether it is compact, and eight words of digits.
    private func decimal(_ values: [TypedStreamValue]) throws -> [(key: String, value: ArchivedValue)] {
        let numbers = values.compactMap(whole)
        guard values.count == 15, numbers.count == 13, case .array = values[5], numbers[4] == 8,
            (-128...127).contains(numbers[0])
        else { throw Self.other }
        let words = numbers[5...].map { UInt16(truncatingIfNeeded: $0) }
        let parts = try DecimalParts(
            mantissa: words.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }, isBigEndian: false,
            length: numbers[1], isNegative: numbers[2] != 0)
        return StoredForm.decimal(parts, exponent: Int64(numbers[0]))
    }

    private mutating func fillValue(_ label: Int, _ values: [TypedStreamValue], _ types: [ArchivedText]) throws {
        let type = try type(values, types)
        let numbers = values.compactMap(scalar)
        // The name of the structure, which may have an underscore or another prefix.
        let name = type.dropFirst().prefix { $0 != "=" }
        switch (numbers.count, name) {
        case _ where !numbers.allSatisfy(\.isFinite):
            throw Problem(
                "has a number that is not finite, which no keyed archive has in a point, a size or a rectangle")
        case (2, "_NSPoint"), (2, "CGPoint"): try fillValue(label, 1, "NS.pointval", pair(numbers[...]))
        case (2, "_NSSize"), (2, "CGSize"): try fillValue(label, 2, "NS.sizeval", pair(numbers[...]))
        case (4, "_NSRect"), (4, "CGRect"):
            let text = "{\(pair(numbers[..<2])), \(pair(numbers[2...]))}"
            try fillValue(label, 3, "NS.rectval", text)
        case (_, "_NSRange"):
            // A real does not hold each number of a range.
            let numbers = values.compactMap(whole).map { Int64($0) }
            guard numbers.count == 2 else { throw Problem("has a range that does not fit signed numbers of 64 bits") }
            set(
                label,
                [
                    ("NS.special", .integer(4)), ("NS.rangeval.location", .integer(numbers[0])),
                    ("NS.rangeval.length", .integer(numbers[1])),
                ])
        default: throw Problem("has a value of the type \(PlainText.name(type)), which is not translated")
        }
    }

    private mutating func fillValue(_ label: Int, _ kind: Int64, _ key: String, _ text: String) throws {
        let string = try graph.add(.value(.string(text)))
        set(label, [("NS.special", .integer(kind)), (key, .reference(string))])
    }

    private func scalar(_ value: TypedStreamValue) -> Double? {
        switch value {
        case .integer(let value): Double(exactly: value)
        case .unsigned(let value): Double(exactly: value)
        case .float(let bits): Double(Float(bitPattern: bits))
        case .double(let bits): Double(bitPattern: bits)
        default: nil
        }
    }

    /// Two numbers as `NSStringFromPoint` writes them.
    private func pair(_ numbers: ArraySlice<Double>) -> String {
        let texts = numbers.map { number in
            let text = "\(number)"
            return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
        }
        return "{\(texts.joined(separator: ", "))}"
    }

    private mutating func fillURL(_ label: Int, _ values: [TypedStreamValue]) throws {
        guard let first = values.first, let hasBase = whole(first), values.count == (hasBase == 0 ? 2 : 3),
            let text = reference(values[values.count - 1])
        else { throw Self.other }
        var base = -1
        if hasBase != 0 {
            guard let label = reference(values[1]) else { throw Self.other }
            base = label
        }
        let relative = try encodedURL(text).map { try graph.add(.value(.string($0))) } ?? place(of: text)
        set(label, [("NS.base", .reference(try place(of: base))), ("NS.relative", .reference(relative))])
    }

    /// The text of a URL with what is not ASCII in percent-encoding, which keyed archives need; nil if all is ASCII.
    private func encodedURL(_ label: Int) throws -> String? {
        guard case .object(let object) = stream.labels[label] else { throw Self.other }
        let values = object.groups.flatMap { Array($0.values) }
        guard case .text(let text)? = values.first, text.withBytes({ $0.contains { $0 >= 0x80 } }) else { return nil }
        return try string(values).utf8.reduce(into: "") { result, byte in
            result += byte < 0x80 ? String(UnicodeScalar(byte)) : "%" + String(byte, radix: 16, uppercase: true)
        }
    }

    // MARK: Attributed strings

    /// A text, and for each run the number of its attributes, its length, and the attributes where their number is new.
    private mutating func fillAttributed(_ label: Int, _ values: [TypedStreamValue]) throws {
        guard let first = values.first, let text = reference(first) else { throw Self.other }
        var fields: [(key: String, value: ArchivedValue)] = [("NSString", .reference(try place(of: text)))]
        var attributes: [ArchivedValue] = []
        var runs: [(length: Int, slot: Int)] = []
        var at = 1
        while at < values.count {
            guard at + 1 < values.count, let number = whole(values[at]), let length = whole(values[at + 1]),
                number > 0, length >= 0
            else { throw Self.other }
            at += 2
            if number == attributes.count + 1 {
                guard at < values.count, let new = reference(values[at]) else { throw Self.other }
                attributes.append(.reference(try place(of: new)))
                at += 1
            }
            guard number <= attributes.count else { throw Self.other }
            runs.append((length, number - 1))
        }
        switch runs.count {
        case 0: break
        case 1: fields.append(("NSAttributes", attributes[0]))
        default:
            let list = graph.add(
                className: "NSArray", superclasses: ["NSObject"], fields: [("NS.objects", .list(attributes))])
            var packed: [UInt8] = []
            for run in runs {
                Self.append(run.length, to: &packed)
                Self.append(run.slot, to: &packed)
            }
            let info = try graph.add(.value(.data(Data(packed))))
            fields += [("NSAttributes", .reference(list)), ("NSAttributeInfo", .reference(info))]
        }
        set(label, fields)
    }

    /// Appends a number in parts of 7 bits, the lowest first.
    private static func append(_ number: Int, to bytes: inout [UInt8]) {
        var rest = number
        while rest > 0x7F {
            bytes.append(0x80 | UInt8(rest & 0x7F))
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}
