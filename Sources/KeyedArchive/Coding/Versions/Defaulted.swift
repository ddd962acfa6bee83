/// A field that older programs do not write: if it is missing, it has a default.
///
/// ```swift
/// struct Job: Codable {
///     var path: String
///     @Defaulted<Retries> var retries = Retries.defaultValue
///
///     enum Retries: DefaultValue {
///         static let defaultValue = 3
///     }
/// }
/// ```
///
/// The field is written like a plain one, also if it has the default, so older programs skip it. It works with each decoder
/// that reads by keys, those of Foundation included. A nil in its place is read as the default, too, unless the field is an
/// optional: then nil stays nil.
///
/// What stands behind `=` is the value of a new instance only. A decoder does not get to know it, so the default has a type
/// of its own. ``Default`` has the most frequent ones.
@propertyWrapper
public struct Defaulted<Source: DefaultValue> {
    /// The value of the field.
    public var wrappedValue: Source.Value

    /// A field with a value.
    public init(wrappedValue: Source.Value) { self.wrappedValue = wrappedValue }
}

/// What a ``Defaulted`` field has if it is missing.
///
/// A type with a natural default can be the source itself: `@Defaulted<Mode> var mode = .fast`.
public protocol DefaultValue {
    /// The type of the field.
    associatedtype Value: Codable
    /// What is decoded if the field is missing.
    nonisolated static var defaultValue: Value { get }
}

extension Defaulted: Sendable where Source.Value: Sendable {}
extension Defaulted: Equatable where Source.Value: Equatable {}
extension Defaulted: Hashable where Source.Value: Hashable {}

extension Defaulted: CustomStringConvertible {
    /// The value as text.
    public var description: String { String(describing: wrappedValue) }
}

extension Defaulted: Codable {
    /// Decodes the value where there are no keys, as in a list; a synthesized `init(from:)` calls a container instead.
    ///
    /// - Throws: What the decoder throws.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil(), !(Source.Value.self is any AnyOptional.Type) {
            wrappedValue = Source.defaultValue
        } else {
            wrappedValue = try container.decode(Source.Value.self)
        }
    }

    /// Encodes the plain value.
    ///
    /// - Throws: What the encoder throws.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wrappedValue)
    }
}

/// Marks ``Defaulted`` fields of any type.
///
/// This library's containers ask for it where they are called with a type that the compiler does not know, as in a generic
/// function, or where a file does not import what declares the functions below.
protocol AnyDefaulted {
    /// A field that is missing.
    static var missing: Self { get }
}

extension Defaulted: AnyDefaulted {
    static var missing: Self { Self(wrappedValue: Source.defaultValue) }
}

// A synthesized `init(from:)` calls `decode(_:forKey:)` with the type of the wrapper, and takes these for it. Without them the
// container of another decoder would throw for a missing key before the wrapper is asked.

extension KeyedDecodingContainer {
    /// Decodes a field; the default if it is missing or nil.
    ///
    /// - Throws: What the decoder throws.
    public func decode<Source>(_ type: Defaulted<Source>.Type, forKey key: Key) throws -> Defaulted<Source> {
        try decodeIfPresent(Source.Value.self, forKey: key).map { Defaulted(wrappedValue: $0) } ?? .missing
    }

    /// Decodes a field that may be nil; the default if it is missing.
    ///
    /// - Throws: What the decoder throws.
    public func decode<Source, Wrapped>(
        _ type: Defaulted<Source>.Type, forKey key: Key
    ) throws -> Defaulted<Source> where Source.Value == Wrapped? {
        guard contains(key) else { return .missing }
        return Defaulted(wrappedValue: try decode(Source.Value.self, forKey: key))
    }
}

extension KeyedEncodingContainer {
    /// Encodes a field like a plain one.
    ///
    /// - Throws: What the encoder throws.
    public mutating func encode<Source>(_ value: Defaulted<Source>, forKey key: Key) throws {
        try encode(value.wrappedValue, forKey: key)
    }
}
