public import KeyedArchive

/// A list of Foos; sent by copy together with its Foos.
public final class Bar: ObjectCoding {
    /// The Foos, in order.
    public var foos: [Foo]

    /// A Bar with the two Foos that each new one has.
    public init() {
        foos = [Foo(name: "Juliana", age: 7), Foo(name: "Nicolas", age: 3)]
    }

    /// Reads a Bar from an archive or a message.
    public init(coder: ObjectDecoder) throws {
        foos = try coder.decode([Foo].self, forKey: "foos")
    }

    /// Writes it.
    public func encode(with coder: ObjectEncoder) throws {
        // A mutable array, because classes written for Foundation expect one.
        try coder.encode(AsMutable(foos), forKey: "foos")
    }
}

extension Bar: CustomStringConvertible {
    /// The Foos.
    public var description: String { foos.map(\.description).joined(separator: "; ") }
}
