/// A class whose instances are archived as objects, with identity, class and version.
///
/// Shared references and cycles are restored.
///
/// ```swift
/// final class Foo: ObjectCoding {
///     let name: String
///     let age: Int
///     init(coder: ObjectDecoder) throws {
///         name = try coder.decode(String.self, forKey: "name")
///         age = try coder.decode(Int.self, forKey: "age")
///     }
///     func encode(with coder: ObjectEncoder) throws {
///         try coder.encode(name, forKey: "name")
///         try coder.encode(age, forKey: "age")
///     }
/// }
/// ```
///
/// `Codable` comes with default implementations, so instances work in `Codable` arrays, optionals and structures. Other
/// encoders, such as JSON's, cannot keep identity: there the defaults throw.
public protocol ObjectCoding: AnyObject, Codable {
    /// Makes the object from what `encode(with:)` wrote. Keys may be read in any order; the order written is fastest.
    ///
    /// - Parameter coder: The decoder that reads the object. A class may leave `borrowing` out, and must if it has a superclass
    ///   or subclasses that do; its initializer then retains and releases the decoder for each object.
    /// - Throws: What the coder throws, and the class's own errors for values that do not fit together.
    nonisolated init(coder: borrowing ObjectDecoder) throws

    /// Writes the object's state under keys. Subclasses call `super`.
    ///
    /// - Throws: What the coder throws, and the class's own errors for a state that cannot be archived.
    nonisolated func encode(with coder: ObjectEncoder) throws

    /// The name of the class in archives. Default: the type's name without its module.
    nonisolated static var className: String { get }

    /// The version written with the class, for its `init(coder:)` to read. Default: 0.
    nonisolated static var classVersion: Int { get }

    /// Classes whose instances may appear where this class is expected: subclasses, and stand-ins that
    /// `awakeAfter(using:)` replaces with an instance. Their own `codingSubclasses` count, too. Default: none.
    nonisolated static var codingSubclasses: [any ObjectCoding.Type] { get }

    /// An object to archive in place of this one; asked once for each archive. Default: nil, for this one.
    ///
    /// - Throws: The class's own error if the object cannot be archived.
    nonisolated func replacementObject(for coder: ObjectEncoder) throws -> (any ObjectCoding)?

    /// The object to use in place of this one, which was just decoded. Default: nil, which keeps this object.
    ///
    /// - Throws: The class's own error if the object cannot be used.
    nonisolated func awakeAfter(using coder: ObjectDecoder) throws -> (any ObjectCoding)?
}

extension ObjectCoding {
    /// The type's name without its module.
    public static var className: String { unqualifiedName(of: Self.self) }

    /// Version 0.
    public static var classVersion: Int { 0 }

    /// None.
    public static var codingSubclasses: [any ObjectCoding.Type] { [] }

    /// Archives this object itself.
    ///
    /// - Throws: Nothing.
    public func replacementObject(for coder: ObjectEncoder) throws -> (any ObjectCoding)? { nil }

    /// Keeps this object.
    ///
    /// - Throws: Nothing.
    public func awakeAfter(using coder: ObjectDecoder) throws -> (any ObjectCoding)? { nil }

    /// Decodes under one of this library's decoders; throws under any other.
    ///
    /// - Throws: What `init(coder:)` throws; `ArchiveError` under any other decoder.
    public init(from decoder: any Decoder) throws {
        guard let decoder = decoder as? any ObjectPlaceDecoder else {
            throw ArchiveError(
                .unsupported,
                "\(Self.className) is an object with identity: decode it with a KeyedUnarchiver, not \(type(of: decoder))"
            )
        }
        try self.init(coder: decoder.coder)
    }

    /// Encodes under one of this library's encoders; throws under any other.
    ///
    /// - Throws: `ArchiveError`, always under any other encoder.
    public func encode(to encoder: any Encoder) throws {
        guard let encoder = encoder as? any ObjectPlaceEncoder else {
            throw ArchiveError(
                .unsupported,
                "\(Self.className) is an object with identity: encode it with a KeyedArchiver, not \(type(of: encoder))"
            )
        }
        try encoder.encodeObjectInPlace(self)
    }
}

/// One of this library's encoders, at a place that can hold an object.
protocol ObjectPlaceEncoder: Encoder {
    /// Writes the object as the value, by copy even if its class may also travel by reference.
    func encodeObjectInPlace<T: ObjectCoding>(_ object: T) throws
}

/// One of this library's decoders, at a place that can hold an object.
protocol ObjectPlaceDecoder: Decoder {
    var coder: ObjectDecoder { get }
}
