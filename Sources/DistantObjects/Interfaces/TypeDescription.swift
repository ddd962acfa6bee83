import KeyedArchive

/// What an argument or result is: its kind, and the name of its type.
public struct TypeDescription: Hashable, Sendable {
    /// How what it describes travels.
    ///
    /// Kinds may be added in later versions.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The number on the wire.
        public let rawValue: UInt8

        /// A kind by its number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// There is no result.
        public static let nothing = Kind(rawValue: 0)
        /// A copy.
        public static let value = Kind(rawValue: 1)
        /// An object by reference.
        public static let reference = Kind(rawValue: 2)
        /// A stream; the name is that of its elements' type, with that of its final value if there is one.
        public static let stream = Kind(rawValue: 3)

        /// The name of the kind; of one that a later version has added, its number.
        public var description: String {
            switch self {
            case .nothing: "nothing"
            case .value: "value"
            case .reference: "reference"
            case .stream: "stream"
            default: "kind \(rawValue)"
            }
        }
    }

    /// How it travels.
    public let kind: Kind
    /// The type's name without its module.
    ///
    /// Of a reference it is the name of the interface, empty for one of any interface, with a question mark where there may
    /// be none.
    public let name: String

    init(_ kind: Kind, _ name: String) {
        self.kind = kind
        self.name = name
    }

    static let nothing = TypeDescription(.nothing, "")

    /// The description of a type.
    ///
    /// Costs a string, and up to three searches of conformances for classes and generic types: ask once and keep it.
    static func of(_ type: Any.Type) -> TypeDescription {
        if type == Void.self { return .nothing }
        let ownName = typeName(type)
        // Of the types that messages name, only generic ones have descriptions of their own, and only those and classes travel
        // by reference.
        let isGeneric = ownName.utf8.contains(UInt8(ascii: "<"))
        guard isGeneric || type is AnyClass else { return TypeDescription(.value, ownName) }
        if isGeneric, let described = type as? any DescribedType.Type { return described.typeDescription }
        guard type is any _ExternallyCodable.Type else { return TypeDescription(.value, ownName) }
        let interface = (type as? any Implements.Type).map { name(ofInterfaceOf: $0) }
        return TypeDescription(.reference, interface ?? "")
    }

    static func of<each Value>(each types: repeat (each Value).Type) -> [TypeDescription] {
        var descriptions: [TypeDescription] = []
        for type in repeat each types { descriptions.append(of(type)) }
        return descriptions
    }

    private static func name<Class: Implements>(ofInterfaceOf type: Class.Type) -> String {
        typeName(Class.I.self)
    }

    /// Whether what the peer describes can be used as what is expected here.
    ///
    /// A reference to an object of any interface fits each interface: what it is shows when it comes.
    /// - Parameter olderNames: Names of types as they are here, with those they had in earlier versions.
    func fits(_ expected: TypeDescription, olderNames: [String: String]) -> Bool {
        guard kind == expected.kind else { return false }
        if name == expected.name { return true }
        if kind == .reference {
            let (own, other) = (Self.parts(of: name), Self.parts(of: expected.name))
            if own.mayBeMissing == other.mayBeMissing, own.interface.isEmpty || other.interface.isEmpty { return true }
        }
        return !olderNames.isEmpty && name == Self.replacingWords(in: expected.name, by: olderNames)
    }

    private static func parts(of name: String) -> (interface: Substring, mayBeMissing: Bool) {
        name.last == "?" ? (name.dropLast(), true) : (name[...], false)
    }

    /// Replaces whole names within the name of a generic type.
    private static func replacingWords(in name: String, by others: [String: String]) -> String {
        var result = ""
        var rest = name[...]
        while let first = rest.first {
            let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
            if word.isEmpty {
                result.append(first)
                rest = rest.dropFirst()
            } else {
                result += others[String(word)] ?? String(word)
                rest = rest.dropFirst(word.count)
            }
        }
        return result
    }
}

extension TypeDescription: CustomStringConvertible {
    /// The type as it is written in Swift.
    public var description: String {
        switch kind {
        case .nothing: return "Void"
        case .reference:
            let (interface, mayBeMissing) = Self.parts(of: name)
            return (interface.isEmpty ? "DistantObject" : "Remote<\(interface)>") + (mayBeMissing ? "?" : "")
        case .stream:
            let parts = name.split(separator: "; ", maxSplits: 1)
            guard parts.count == 2 else { return "DistantStream<\(name)>" }
            return "DistantStream<\(parts[0])>.WithFinal<\(parts[1])>"
        default: return name
        }
    }
}

/// A type whose description is not made of its own name alone.
protocol DescribedType {
    static var typeDescription: TypeDescription { get }
}

// What is invisible to a peer at an element's place, as `ByCopy`, is left out of the names of these types, too.

extension SharedBytes: DescribedType {
    /// The same as that of `Data`: each is read from what is sent as the other.
    static var typeDescription: TypeDescription { TypeDescription(.value, "Data") }
}

extension Optional: DescribedType {
    static var typeDescription: TypeDescription {
        let wrapped = TypeDescription.of(Wrapped.self)
        guard wrapped.kind == .reference else { return TypeDescription(.value, "Optional<\(wrapped)>") }
        return TypeDescription(.reference, wrapped.name + "?")
    }
}

extension Array: DescribedType {
    static var typeDescription: TypeDescription {
        TypeDescription(.value, "Array<\(TypeDescription.of(Element.self))>")
    }
}

extension Set: DescribedType {
    static var typeDescription: TypeDescription {
        TypeDescription(.value, "Set<\(TypeDescription.of(Element.self))>")
    }
}

extension Dictionary: DescribedType {
    static var typeDescription: TypeDescription {
        TypeDescription(.value, "Dictionary<\(TypeDescription.of(Key.self)), \(TypeDescription.of(Value.self))>")
    }
}

extension GraphView: DescribedType {
    static var typeDescription: TypeDescription { TypeDescription.of(Value.self) }
}

extension Defaulted: DescribedType {
    static var typeDescription: TypeDescription { TypeDescription.of(Source.Value.self) }
}
