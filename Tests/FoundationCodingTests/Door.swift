import Foundation
import FoundationCoding

/// Opens an archive in all the ways a program might.
enum Door {
    /// A faulty class that decodes every type under each key.
    final class Confused: NSObject, NSSecureCoding {
        static var supportsSecureCoding: Bool { true }
        static let keys = [
            "name", "foos", "NS.objects", "NS.keys", "NS.string", "NS.data", "NS.time", "NSString", "root", "$0",
            "$class", "next",
        ]

        init?(coder: NSCoder) {
            for key in Self.keys {
                _ = coder.containsValue(forKey: key)
                _ = coder.decodeObject(of: AllowedValues.classes + [Confused.self], forKey: key)
            }
            _ = coder.decodeObject()
            var memory = [UInt64](repeating: 0, count: 8)
            coder.decodeArray(ofObjCType: "f", count: 6, at: &memory)
        }

        func encode(with coder: NSCoder) {}
    }

    /// A delegate that replaces every unknown class with `Confused`.
    final class Guide: NSCodingUnarchiverDelegate {
        func unarchiver(
            _ unarchiver: NSCodingUnarchiver, cannotDecodeObjectOfClassName name: String, originalClasses: [String]
        ) -> AnyClass? { Confused.self }
    }

    static func open(_ data: Data) {
        for way in 0..<4 {
            guard let unarchiver = try? NSCodingUnarchiver(forReadingFrom: data) else { return }
            unarchiver.requiresSecureCoding = way < 2
            let guide = Guide()
            if way.isMultiple(of: 2) { unarchiver.delegate = guide }
            for key in unarchiver.keys.prefix(20) {
                switch way {
                case 0: show(unarchiver.decodeObject(of: AllowedValues.classes + [Confused.self], forKey: key))
                case 1: show(unarchiver.decodePropertyList(forKey: key))
                default: show(unarchiver.decodeObject(forKey: key))
                }
                _ = unarchiver.decodeBool(forKey: key)
                _ = unarchiver.decodeInteger(forKey: key)
                _ = unarchiver.decodeDouble(forKey: key)
                _ = unarchiver.withDecodedUnsafeBytes(forKey: key) { $0?.count }
                _ = unarchiver.error
            }
            unarchiver.finishDecoding()
        }
    }

    /// Uses an object as a program would: objects from hostile bytes must be harmless after decoding, too.
    private static func show(_ object: Any?) {
        guard let object = object as? NSObject else { return }
        // Foundation's own hash of these classes never ends, or traps.
        if !(object is NSDecimalNumber || object is NSMeasurement || object is NSError) { _ = object.hash }
        if !(object is NSArray || object is NSDictionary || object is NSSet || object is NSOrderedSet) {
            _ = object.isEqual(object)
            _ = try? NSCodingArchiver.archivedData(withRootObject: object)
        }
    }
}
