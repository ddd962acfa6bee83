/// A number that Apple's format stores as an object, an `NSNumber`.
///
/// Apple's format stores a number under an object's key inline, for `decodeInteger(forKey:)` and the like. A class
/// written for Foundation that reads its number with `decodeObject(forKey:)` needs an object:
///
/// ```swift
/// try coder.encode(AsObject(age), forKey: "age")
/// ```
///
/// Decode the plain number: `decode(Int.self, forKey: "age")`. The compact format and messages contain no trace of the
/// wrapper. It has no effect around other values, which are objects anyway.
public struct AsObject<Value: Codable>: FoundationForm {
    /// The number.
    public var value: Value

    /// Wraps a number for a call of `encode`.
    public init(_ value: Value) { self.value = value }

    static var tag: UInt8 { Tag.asObject }
}

/// A collection, a string or bytes that are mutable in archives of Apple's format: an `NSMutableArray`,
/// `NSMutableDictionary`, `NSMutableSet`, `NSMutableString` or `NSMutableData`.
///
/// For classes written for Foundation that cast decoded values to such a class:
///
/// ```swift
/// try coder.encode(AsMutable(foos), forKey: "foos")
/// ```
///
/// Decode the plain value: `decode([Foo].self, forKey: "foos")`. The compact format and messages contain no trace of
/// the wrapper. Elements of a collection are mutable only if they have wrappers, too.
public struct AsMutable<Value: Codable>: FoundationForm {
    /// The collection, string or bytes.
    public var value: Value

    /// Wraps a value for a call of `encode`.
    public init(_ value: Value) { self.value = value }

    static var tag: UInt8 { Tag.asMutable }
}

extension AsObject: Sendable where Value: Sendable {}
extension AsMutable: Sendable where Value: Sendable {}

/// A wrapper that selects the Foundation class of a value.
protocol FoundationForm: Codable, NativelyArchived {
    associatedtype Value: Codable
    var value: Value { get }
    init(_ value: Value)
    /// The tag in front of the value; written only for the writer of Apple's format.
    static var tag: UInt8 { get }
}

extension FoundationForm {
    static func makeWriter() -> AnyValueCoder {
        let writer = ValueWriter<Value>.of(Value.self)
        return ValueWriter<Self> { form, coder in
            if coder.marksForms { coder.output.byte(tag) }
            try writer.write(form.value, coder)
        }
    }

    static func makeReader() -> AnyValueCoder {
        let reader = ValueReader<Value>.of(Value.self)
        return ValueReader<Self> { Self(try reader.read($0)) }
    }

    /// Encodes the value itself.
    ///
    /// - Throws: What encoding the value throws.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }

    /// Decodes the value itself.
    ///
    /// - Throws: What decoding the value throws.
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(Value.self))
    }
}
