public import KeyedArchive

/// A person with a name and an age; sent by copy.
public final class Foo: ObjectCoding {
    /// The name.
    public let name: String
    /// The age in years.
    public var age: Int

    /// Makes a Foo.
    public init(name: String, age: Int) {
        self.name = name
        self.age = age
    }

    /// Adds a year to the age.
    ///
    /// Archives and messages may come from anywhere, with the largest possible age.
    public func celebrate() {
        if age < .max { age += 1 }
    }

    /// Reads a Foo from an archive or a message.
    public init(coder: ObjectDecoder) throws {
        name = try coder.decode(String.self, forKey: "name")
        age = try coder.decode(Int.self, forKey: "age")
    }

    /// Writes it.
    public func encode(with coder: ObjectEncoder) throws {
        try coder.encode(name, forKey: "name")
        // A number object, because classes written for Foundation decode one.
        try coder.encode(AsObject(age), forKey: "age")
    }
}

extension Foo: CustomStringConvertible {
    /// The name and the age.
    public var description: String { "\(name), \(age)" }
}
