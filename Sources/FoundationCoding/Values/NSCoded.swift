public import Foundation
import KeyedArchive

/// An object of an `NSCoding` class as a `Codable` value, so that it travels in messages of a connection, in archives of
/// this library and in other `Codable` formats.
///
/// ```swift
/// func add(_ foo: NSCoded<Foo>) { foos.append(foo.object) }
/// let count: Int = try await directory.add(NSCoded(foo))
/// ```
///
/// The value carries an archive of its own: objects shared inside of one value stay shared, those of two values come back as
/// copies. When it is decoded, objects are made of the class named, of what it lists (`NSCodingClassListing`), of what its
/// decoding code names, and of property lists; no other. The class need not support `NSSecureCoding`.
///
/// A class that does not say what is in its collections, and a collection itself, need a list where the value is received: the
/// further classes are part of the type.
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

    /// Makes a value of an object whose type lists further classes.
    ///
    /// - Parameters:
    ///   - object: The object that is archived when the value is.
    ///   - classes: Classes that may be inside of the object when such a value is decoded.
    public init(_ object: Object, allowing classes: repeat (each Allowed).Type) { self.object = object }

    /// The classes that objects may be made of, in addition to those the classes list.
    private static var allowedClasses: [AnyClass] {
        var classes: [AnyClass] = [Object.self]
        for type in repeat (each Allowed).self { classes.append(type) }
        return classes + AllowList.propertyListClasses
    }

    /// Makes the object of its archive.
    ///
    /// - Throws: `ArchiveError` if it is no archive of such an object.
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
    /// Whether the objects are equal as they say themselves.
    public static func == (one: NSCoded, other: NSCoded) -> Bool { one.object.isEqual(other.object) }
}
