/// The classes that an archive may contain in addition to those the reading code names, and the names under which
/// classes are written and read.
public struct ClassRegistry: @unchecked Sendable {
    // A value type; the metatypes it holds are immutable and may be used anywhere.
    private(set) var allowed: [String: any (AnyObject & Decodable).Type] = [:]
    private(set) var renamed: [String: any (AnyObject & Decodable).Type] = [:]
    private(set) var names: [ObjectIdentifier: String] = [:]

    /// Makes a registry that allows nothing more and renames nothing.
    public init() {}

    /// Makes a registry that allows `classes` where they, or the objects that replace them on awaking, fit the type.
    ///
    /// - Complexity: Linear in the number of classes.
    public init(allowing classes: [any ObjectCoding.Type]) {
        for type in classes { allow(type) }
    }

    /// Allows a class where it, or the object that replaces it on awaking, fits the expected type.
    public mutating func allow(_ type: any ObjectCoding.Type) { allowed[type.className] = type }

    /// Allows a class that is `Codable` but not `ObjectCoding` where one of its superclasses is expected.
    public mutating func allow<T: AnyObject & Decodable>(codable type: T.Type) {
        allowed[unqualifiedName(of: type)] = type
    }

    /// Writes instances of `type` under another class name.
    public mutating func setName(_ name: String, for type: any (AnyObject & Codable).Type) {
        names[ObjectIdentifier(type)] = name
    }

    /// Reads objects with the class name `name` as `type`, where `type` fits.
    ///
    /// Use it for former names of a class.
    public mutating func setClass(_ type: any (AnyObject & Decodable).Type, forName name: String) {
        renamed[name] = type
    }

    /// Whether the registry changes neither writing nor reading.
    package var isPlain: Bool { isEmpty && names.isEmpty }

    var isEmpty: Bool { allowed.isEmpty && renamed.isEmpty }

    /// The name of a class in archives.
    func name(of type: any (AnyObject & Decodable).Type) -> String {
        if let name = names[ObjectIdentifier(type)] { return name }
        if let coding = type as? any ObjectCoding.Type { return coding.className }
        return unqualifiedName(of: type)
    }
}
