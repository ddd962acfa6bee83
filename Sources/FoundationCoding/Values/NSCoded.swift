public import Foundation
import KeyedArchive

/// An object of an `NSCoding` class as a `Codable` value.
///
/// It travels in messages of a connection, in archives of this library and in other `Codable` formats.
///
/// ```swift
/// func add(_ foo: NSCoded<Foo>) { foos.append(foo.object) }
/// let count: Int = try await directory.add(NSCoded(foo))
/// ```
///
/// The value contains a separate archive: sharing is kept inside one value, but not between two. Decoding makes only
/// objects of the named class, of the classes that it lists (`NSCodingClassListing`) or names while decoding, and of
/// property lists. The class need not support `NSSecureCoding`.
///
/// A class that does not say what its collections contain, and a collection itself, need a list where the value is
/// received. The further classes are part of the type.
///
/// ```swift
/// func keep(_ bar: NSCoded<Bar, Foo>) { bars.append(bar.object) }
/// func log(_ events: NSCoded<NSMutableArray, NSError>) { ... }
///
/// let bar: NSCoded<Bar, Foo> = try await directory.bar()
/// try await directory.keep(NSCoded(bar.object))
/// ```
///
/// The list is not sent: the sender may list fewer classes or none.
public struct NSCoded<Object: NSObject & NSCoding, each Allowed: NSObject & NSCoding>: Codable {
    /// The object.
    public var object: Object

    /// Makes a value of an object, which is archived when the value is.
    @_disfavoredOverload
    public init(_ object: Object) { self.object = object }

    /// Makes a value of an object, with a type that lists further classes.
    ///
    /// - Parameters:
    ///   - object: The object, which is archived when the value is.
    ///   - classes: Further classes that such a value may contain when it is decoded.
    public init(_ object: Object, allowing classes: repeat (each Allowed).Type) { self.object = object }

    /// The classes that may be decoded, in addition to those that they list.
    private static var allowedClasses: [AnyClass] {
        var classes: [AnyClass] = [Object.self]
        for type in repeat (each Allowed).self { classes.append(type) }
        return classes + AllowList.propertyListClasses
    }

    /// Decodes the object from its archive.
    ///
    /// - Throws: `ArchiveError` if the data is not an archive of such an object.
    public init(from decoder: any Decoder) throws {
        let data = try decoder.singleValueContainer().decode(Data.self)
        let object = try NSCodingUnarchiver.unarchivedObject(
            ofClasses: Self.allowedClasses, from: data, requiringSecureCoding: false)
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
    /// Whether the objects are equal according to `isEqual`.
    public static func == (one: NSCoded, other: NSCoded) -> Bool { one.object.isEqual(other.object) }
}
