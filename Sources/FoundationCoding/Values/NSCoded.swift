public import Foundation
import KeyedArchive

/// An object of an `NSCoding` class as a `Codable` value, so that it travels in messages of a connection, in archives of
/// this library and in whatever else takes `Codable`.
///
/// ```swift
/// func add(_ foo: NSCoded<Foo>) { foos.append(foo.object) }
/// let count: Int = try await directory.add(NSCoded(foo))
/// ```
///
/// The value carries an archive of its own: objects shared inside of one value stay shared, those of two values come back as
/// copies. When it is decoded, objects are made of the class named, of what it lists (`NSCodingClassListing`), of what its
/// decoding code names, and of property lists; no other. The class need not support `NSSecureCoding`.
public struct NSCoded<Object: NSObject & NSCoding>: Codable {
    /// The object.
    public var object: Object

    /// Makes a value of an object, which is archived when the value is.
    public init(_ object: Object) { self.object = object }

    /// Makes the object of its archive.
    ///
    /// - Throws: `ArchiveError` if it is no archive of such an object.
    public init(from decoder: any Decoder) throws {
        let data = try decoder.singleValueContainer().decode(Data.self)
        let object = try NSCodingUnarchiver.unarchivedObject(
            ofClasses: [Object.self] + AllowList.propertyListClasses, from: data, requiringSecureCoding: false)
        guard let object = object as? Object else {
            throw ArchiveError(.typeMismatch, "expected an object of \(Object.self)")
        }
        self.object = object
    }

    /// Archives the object.
    ///
    /// - Throws: `ArchiveError` if something in it cannot be archived.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(try NSCodingArchiver.archivedData(withRootObject: object))
    }
}

extension NSCoded: Sendable where Object: Sendable {}

extension NSCoded: Equatable {
    /// Whether the objects are equal as they say themselves.
    public static func == (one: NSCoded, other: NSCoded) -> Bool { one.object.isEqual(other.object) }
}
