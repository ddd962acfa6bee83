public import Foundation
public import KeyedArchive

extension NSCodingUnarchiver {
    /// Decodes the object under the key `root`, of a class or its subclasses.
    ///
    /// - Parameters:
    ///   - type: The class; only it and the classes that its decoding names are allowed.
    ///   - data: An archive in any format.
    ///   - requiringSecureCoding: Whether classes must support `NSSecureCoding`; pass false for classes that do not.
    ///   - limits: The bounds of what is read.
    /// - Returns: The object; nil if the archive contains nil.
    /// - Throws: `ArchiveError`.
    /// - Complexity: Linear in the size of the archive.
    public class func unarchivedObject<T: NSObject & NSCoding>(
        ofClass type: T.Type, from data: Data, requiringSecureCoding: Bool = true,
        limits: ArchiveLimits = ArchiveLimits()
    ) throws -> T? {
        let object = try unarchivedObject(
            ofClasses: [type], from: data, requiringSecureCoding: requiringSecureCoding, limits: limits)
        return object as? T
    }

    /// Decodes the object under the key `root`, of one of several classes or their subclasses.
    ///
    /// - Parameters:
    ///   - classes: The classes; only they and the classes that their decoding names are allowed.
    ///   - data: An archive in any format.
    ///   - requiringSecureCoding: Whether classes must support `NSSecureCoding`.
    ///   - limits: The bounds of what is read.
    /// - Returns: The object; nil if the archive contains nil.
    /// - Throws: `ArchiveError`.
    /// - Complexity: Linear in the size of the archive.
    public class func unarchivedObject(
        ofClasses classes: [AnyClass], from data: Data, requiringSecureCoding: Bool = true,
        limits: ArchiveLimits = ArchiveLimits()
    ) throws -> Any? {
        if self is NSCodingSequentialUnarchiver.Type {
            return try NSCodingSequentialUnarchiver.unarchivedObject(with: data, allowing: classes)
        }
        let unarchiver = try NSCodingUnarchiver(forReadingFrom: data, limits: limits)
        if !requiringSecureCoding { unarchiver.strictness = .listed }
        return try unarchiver.root { $0.decodeObject(of: classes, forKey: NSCodingArchiver.rootKey) }
    }

    /// Decodes an array of objects of one class.
    ///
    /// - Parameters:
    ///   - type: The class of the elements.
    ///   - data: An archive in any format, with the array under the key `root`.
    ///   - requiringSecureCoding: Whether classes must support `NSSecureCoding`.
    /// - Returns: The array; nil if the archive contains nil.
    /// - Throws: `ArchiveError`.
    /// - Complexity: Linear in the size of the archive.
    public class func unarchivedArrayOfObjects<T: NSObject & NSCoding>(
        ofClass type: T.Type, from data: Data, requiringSecureCoding: Bool = true
    ) throws -> [T]? {
        let unarchiver = try NSCodingUnarchiver(forReadingFrom: data)
        if !requiringSecureCoding { unarchiver.strictness = .listed }
        return try unarchiver.root { $0.decodeArrayOfObjects(ofClass: type, forKey: NSCodingArchiver.rootKey) }
    }

    /// Decodes a dictionary with keys of one class and values of another.
    ///
    /// - Parameters:
    ///   - keyType: The class of the keys.
    ///   - valueType: The class of the values.
    ///   - data: An archive in any format, with the dictionary under the key `root`.
    ///   - requiringSecureCoding: Whether classes must support `NSSecureCoding`.
    /// - Returns: The dictionary; nil if the archive contains nil.
    /// - Throws: `ArchiveError`.
    /// - Complexity: Linear in the size of the archive.
    public class func unarchivedDictionary<Key: NSObject & NSCoding, Value: NSObject & NSCoding>(
        withKeysOfClass keyType: Key.Type, objectsOfClass valueType: Value.Type, from data: Data,
        requiringSecureCoding: Bool = true
    ) throws -> [Key: Value]? {
        let unarchiver = try NSCodingUnarchiver(forReadingFrom: data)
        if !requiringSecureCoding { unarchiver.strictness = .listed }
        return try unarchiver.root {
            $0.decodeDictionary(
                withKeysOfClass: keyType, objectsOfClass: valueType, forKey: NSCodingArchiver.rootKey)
        }
    }

    /// Decodes the object under the key `root`, of any class of the program that the archive names.
    ///
    /// Only for your own archives: the archive chooses the classes.
    /// - Throws: `ArchiveError`.
    /// - Complexity: Linear in the size of the archive.
    public class func unarchiveObject(with data: Data) throws -> Any? {
        if self is NSCodingSequentialUnarchiver.Type {
            return try NSCodingSequentialUnarchiver.unarchivedObject(with: data)
        }
        let unarchiver = try NSCodingUnarchiver(forReadingFrom: data)
        unarchiver.requiresSecureCoding = false
        return try unarchiver.root { $0.decodeObject(forKey: NSCodingArchiver.rootKey) }
    }

    /// Decodes the object under the key `root` of a file, of any class of the program that the archive names.
    ///
    /// Only for your own files: the archive chooses the classes.
    /// - Returns: The object; nil if there is no file, or it is not such an archive. `unarchiveObject(with:)` throws
    ///   the reason.
    /// - Complexity: Linear in the size of the archive.
    public class func unarchiveObject(withFile path: String) -> Any? {
        guard let data = try? Data(contentsOf: URL(fileURLWithPath: path)) else { return nil }
        return try? unarchiveObject(with: data)
    }

    private func root<T>(_ decode: (NSCodingUnarchiver) -> T?) throws -> T? {
        guard failure != nil || containsValue(forKey: NSCodingArchiver.rootKey) else {
            throw ArchiveError(.missingKey, "the archive has no “\(NSCodingArchiver.rootKey)”")
        }
        let object = decode(self)
        finishDecoding()
        if let failure { throw failure }
        return object
    }
}
