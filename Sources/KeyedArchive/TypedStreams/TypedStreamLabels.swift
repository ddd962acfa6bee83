/// What a label of a typedstream stands for.
public enum TypedStreamLabel: Sendable {
    /// An object.
    case object(TypedStreamObject)
    /// A class, with its version at the time of writing.
    case type(TypedStreamClass)
    /// A C string, which has an identity like an object.
    case cString(ArchivedText)
}

/// An object of a typedstream.
public struct TypedStreamObject: Sendable {
    /// The label of its class; nil for an object of no class, which ordinary archivers do not write.
    public let classLabel: Int?
    /// Its values: those of its topmost superclass come first.
    public let groups: TypedStreamGroups
}

/// A class of a typedstream.
public struct TypedStreamClass: Sendable, Hashable {
    /// Its name.
    public let name: ArchivedText
    /// Its version at the time of writing; the layout of its objects may depend on it.
    public let version: Int
    /// The label of its superclass; nil for a class without one.
    ///
    /// A broken or hostile archive may contain a class that is its own superclass.
    public let superclass: Int?
}

/// The objects, classes and C strings of a typedstream, by their labels.
public struct TypedStreamLabels: RandomAccessCollection, Sendable {
    let index: TypedStreamIndex

    /// 0.
    public var startIndex: Int { 0 }

    /// The number of labels.
    public var endIndex: Int { index.labelCount }

    /// What a label stands for; it is read from the file on each access.
    public subscript(position: Int) -> TypedStreamLabel {
        precondition(position >= 0 && position < endIndex, "a label that is not in the graph")
        switch index.kind(position) {
        case .object: return .object(object(position))
        case .type: return .type(type(position))
        case .cString:
            var reader = TypedStreamReader(viewing: position, in: index)
            return .cString(text(try? reader.sharedString("a C string")))
        }
    }

    /// The stream was checked, so nothing is missing.
    private func text(_ string: TypedStreamSharedString??) -> ArchivedText {
        ArchivedText(index.bytes, string.flatMap(\.self)?.range ?? 0..<0)
    }

    private func object(_ label: Int) -> TypedStreamObject {
        var reader = TypedStreamReader(viewing: label, in: index)
        let type = reader.source.next == TypedStreamTag.new ? label + 1 : nil
        var last: TypedStreamToken?
        // The classes up to the reference or nil that ends the chain.
        repeat { last = try? reader.next() } while last?.isClass == true
        if let type { return TypedStreamObject(classLabel: type, groups: TypedStreamGroups(start: reader.place)) }
        let known: Int? = if case .reference(let label)? = last { label } else { nil }
        return TypedStreamObject(classLabel: known, groups: TypedStreamGroups(start: reader.place))
    }

    private func type(_ label: Int) -> TypedStreamClass {
        var reader = TypedStreamReader(viewing: label, in: index)
        let name = text(try? reader.sharedString("the name of a class"))
        let version = (try? reader.source.number("the version of a class"))?.value ?? 0
        let superclass: Int?
        switch reader.source.next {
        case TypedStreamTag.new: superclass = label + 1
        case TypedStreamTag.null: superclass = nil
        default: superclass = try? reader.reference(to: .type, "a class")
        }
        return TypedStreamClass(name: name, version: Int(version), superclass: superclass)
    }
}

extension TypedStreamToken {
    fileprivate var isClass: Bool { if case .type = self { true } else { false } }
}
