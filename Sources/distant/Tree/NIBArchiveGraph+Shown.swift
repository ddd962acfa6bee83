import KeyedArchive

extension NIBArchiveGraph {
    private static let inlined = "NSInlinedValue"
    private static let element = "UINibEncoderEmptyKey"

    /// The objects for a tree: strings and numbers as values, and the elements of lists without their common key.
    func shown() -> ArchivedGraph {
        let names = classes.map { $0.name.description }
        return ArchivedGraph(showing: objects.map { Self.shown($0, names[$0.classIndex]) })
    }

    private static func shown(_ object: NIBArchiveObject, _ className: String) -> ArchivedObject {
        let fields = object.fields
        switch className {
        case "NSString", "NSMutableString":
            if let text = only(fields, "NS.bytes"), case .data(let bytes) = text, let string = bytes.string {
                return .value(.string(string))
            }
        case "NSNumber":
            if let value = only(fields, "NS.intval") ?? only(fields, "NS.dblval") { return .value(shown(value)) }
        case "NSArray", "NSMutableArray", "NSSet", "NSMutableSet", "NSDictionary", "NSMutableDictionary":
            if let values = elements(fields) {
                let isMap = className.hasSuffix("Dictionary") && values.count.isMultiple(of: 2)
                return .instance(
                    ArchivedRecord(
                        typeName: className, storedKeys: [], values: isMap ? [.map(pairs(values))] : values))
            }
        default: break
        }
        return .instance(
            ArchivedRecord(
                typeName: className, storedKeys: fields.map { $0.key.description },
                values: fields.map { shown($0.value) }))
    }

    /// The value of an object that has one, under that key.
    private static func only(_ fields: NIBArchiveFields, _ key: String) -> NIBArchiveValue? {
        fields.count == 1 && fields[0].key.string == key ? fields[0].value : nil
    }

    /// The elements of a collection, if it has nothing else.
    private static func elements(_ fields: NIBArchiveFields) -> [ArchivedValue]? {
        guard let first = fields.first, first.key.string == inlined, first.value == .bool(true),
            fields.dropFirst().allSatisfy({ $0.key.string == element })
        else { return nil }
        return fields.dropFirst().map { shown($0.value) }
    }

    private static func pairs(_ values: [ArchivedValue]) -> [ArchivedValue.Pair] {
        stride(from: 0, to: values.count, by: 2).map { .init(values[$0], values[$0 + 1]) }
    }

    private static func shown(_ value: NIBArchiveValue) -> ArchivedValue {
        switch value {
        case .int8(let value): .integer(Int64(value))
        case .int16(let value): .integer(Int64(value))
        case .int32(let value): .integer(Int64(value))
        case .int64(let value): .integer(value)
        case .bool(let value): .bool(value)
        case .float(let bits): .float(bits: bits)
        case .double(let bits): .double(bits: bits)
        case .data(let bytes): .data(bytes.data)
        case .null: .null
        case .reference(let object): .reference(object)
        }
    }
}
