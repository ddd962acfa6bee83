import KeyedArchive

/// The whole content of a typedstream as a text: the groups that belong to no object, then the labels.
func graphText(_ graph: TypedStreamGraph) -> String {
    let labels = graph.labels.enumerated().map { label, content in
        switch content {
        case .object(let object):
            "#\(label)=\(object.classLabel.map { "#\($0)" } ?? "nil")\(groupsText(object.groups))"
        case .type(let type): "#\(label)=\(type.name) \(type.version):\(type.superclass.map { "#\($0)" } ?? "nil")"
        case .cString(let text): "#\(label)=*\(text)"
        }
    }
    return ([groupsText(graph.groups)] + labels).joined(separator: " ")
}

/// Each group as its type and values.
func groupsText(_ groups: TypedStreamGroups) -> String {
    groups.map { "(\($0.type): \($0.values.map(valueText).joined(separator: " ")))" }.joined()
}

private func valueText(_ value: TypedStreamValue) -> String {
    switch value {
    case .null: "nil"
    case .nothing: "!"
    case .bool(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .unsigned(let value): "u\(value)"
    case .float(let bits): "f\(Float(bitPattern: bits))"
    case .double(let bits): "d\(Double(bitPattern: bits))"
    case .text(let text): "“\(text)”"
    case .atom(let text): text.map { "%\($0)" } ?? "%nil"
    case .selector(let text): text.map { ":\($0)" } ?? ":nil"
    case .label(let label): "#\(label)"
    case .bytes(let bytes, let isSigned): "<\(Array(bytes.data))\(isSigned ? "c" : "C")>"
    case .array(let count, let element): "[\(count)×\(element)"
    case .endArray: "]"
    case .emptyArray(let count, let element): "[\(count)×\(element)]"
    case .structure(let name): "{\(name.map { "\($0)=" } ?? "")"
    case .endStructure: "}"
    }
}
