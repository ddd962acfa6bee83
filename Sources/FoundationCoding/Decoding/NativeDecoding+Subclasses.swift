import Foundation
import KeyedArchive

/// Checks for subclasses of Foundation's collections, which read their elements with Foundation's own code.
///
/// That accepts the classes of a call that names none, takes each element for an `NSObject`, and hashes keys.
extension NativeDecoding {
    /// Foundation casts a subclass of `NSData` that it copies bytes into to `NSMutableData`.
    static let noBytes: Maker = { unarchiver, record, _ in
        guard record["NS.bytes"] == nil else {
            throw ArchiveError(.unsupported, "bytes for a subclass of NSData, which Foundation cannot make")
        }
        return NSNull()
    }

    static let checkedList: Maker = { unarchiver, record, _ in
        _ = try unarchiver.unnamedElements(record, "NS.objects", "NS.object.")
        return NSNull()
    }

    static let checkedSet: Maker = { unarchiver, record, _ in
        let elements = try unarchiver.unnamedElements(record, "NS.objects", "NS.object.")
        try unarchiver.check(keys: elements, "NS.objects", "NS.object.")
        return NSNull()
    }

    static let checkedDictionary: Maker = { unarchiver, record, _ in
        let keys = try unarchiver.unnamedElements(record, "NS.keys", "NS.key.")
        let values = try unarchiver.unnamedElements(record, "NS.objects", "NS.object.")
        guard keys.count == values.count else {
            throw ArchiveError(.corrupt, "\(keys.count) keys for \(values.count) values")
        }
        try unarchiver.check(keys: keys, "NS.keys", "NS.key.")
        return NSNull()
    }

    static let checkedCountedSet: Maker = { unarchiver, record, _ in
        let count = try unarchiver.whole("NS.count", in: 0...additions)
        guard count <= record.values.count else {
            throw ArchiveError(.corrupt, "a counted set of \(count) elements that are not there")
        }
        let frame = unarchiver.frames[unarchiver.frames.count - 1]
        var elements: [NSObject] = []
        var costs: [ComparisonCost] = []
        var total = 0
        for position in 0..<count {
            let value = frame.value(forStoredKey: "NS.object\(position)") ?? .null
            elements.append(try unarchiver.unnamedElement(value))
            let times = try unarchiver.whole("NS.count\(position)", in: 1...additions)
            total += times
            let cost = unarchiver.cost(of: value)
            costs += Array(repeating: cost, count: cost.isCollection ? min(times, additions) : 1)
            guard total <= additions else { throw ArchiveError(.limit, "a counted set with counts that are too large") }
        }
        try unarchiver.work.hash(costs)
        try Hashing.check(elements)
        return NSNull()
    }

    static func noObject(_ object: AnyObject) -> ArchiveError {
        ArchiveError(.unsupported, "\(ClassNames.name(of: type(of: object))) in a collection: it is not an NSObject")
    }
}

extension NSCodingUnarchiver {
    fileprivate func unnamedElements(_ record: ArchivedRecord, _ key: String, _ prefix: String) throws -> [NSObject] {
        try storedElements(frames[frames.count - 1], key, prefix).map { try unnamedElement($0) }
    }

    /// Checks the elements of a set, or the keys of a dictionary, that the innermost frame has.
    fileprivate func check(keys: [NSObject], _ key: String, _ prefix: String) throws {
        try work.hash(try storedElements(frames[frames.count - 1], key, prefix).map { cost(of: $0) })
        try Hashing.check(keys)
    }

    fileprivate func unnamedElement(_ value: ArchivedValue) throws -> NSObject {
        guard let object = try object(value, of: nil) else {
            throw ArchiveError(.unsupported, "nil in a subclass of a collection")
        }
        guard let element = object as? NSObject else { throw NativeDecoding.noObject(object as AnyObject) }
        return element
    }
}
