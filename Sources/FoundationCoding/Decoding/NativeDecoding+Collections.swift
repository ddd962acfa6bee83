import Foundation
import KeyedArchive

extension NativeDecoding {
    static let collections: [(AnyClass, Maker)] = [
        (NSArray.self, { try array($0, $1, $2).copy() as? NSArray ?? NSArray() }),
        (NSMutableArray.self, array),
        (NSSet.self, { try set($0, $1, $2).copy() as? NSSet ?? NSSet() }),
        (NSMutableSet.self, set),
        (NSOrderedSet.self, { try orderedSet($0, $1, $2).copy() as? NSOrderedSet ?? NSOrderedSet() }),
        (NSMutableOrderedSet.self, orderedSet),
        (NSCountedSet.self, countedSet),
        (NSDictionary.self, { try dictionary($0, $1, $2).copy() as? NSDictionary ?? NSDictionary() }),
        (NSMutableDictionary.self, dictionary),
    ]

    /// An empty collection to refer to while its elements are made; nil for classes that are not collections.
    ///
    /// An immutable collection that contains itself decodes as a mutable one.
    static func emptyCollection(of type: AnyClass) -> NSObject? {
        if type == NSArray.self || type == NSMutableArray.self { return NSMutableArray() }
        if type == NSSet.self || type == NSMutableSet.self { return NSMutableSet() }
        if type == NSDictionary.self || type == NSMutableDictionary.self { return NSMutableDictionary() }
        return nil
    }

    // MARK: Makers

    @Sendable private static func array(
        _ unarchiver: NSCodingUnarchiver, _ record: ArchivedRecord, _ index: Int
    ) throws -> NSMutableArray {
        let elements = try unarchiver.elements(record, at: index, "NS.objects", "NS.object.")
        let array = unarchiver.collection(index, as: NSMutableArray.self) ?? NSMutableArray(capacity: elements.count)
        for element in elements { array.add(element) }
        return array
    }

    @Sendable private static func set(
        _ unarchiver: NSCodingUnarchiver, _ record: ArchivedRecord, _ index: Int
    ) throws -> NSMutableSet {
        let elements = try unarchiver.elements(record, at: index, "NS.objects", "NS.object.", areKeys: true)
        let set = unarchiver.collection(index, as: NSMutableSet.self) ?? NSMutableSet()
        for element in elements { set.add(element) }
        return set
    }

    @Sendable private static func orderedSet(
        _ unarchiver: NSCodingUnarchiver, _ record: ArchivedRecord, _ index: Int
    ) throws -> NSMutableOrderedSet {
        let set = NSMutableOrderedSet()
        for element in try unarchiver.elements(record, at: index, "NS.objects", "NS.object.", areKeys: true) {
            set.add(element)
        }
        return set
    }

    @Sendable private static func dictionary(
        _ unarchiver: NSCodingUnarchiver, _ record: ArchivedRecord, _ index: Int
    ) throws -> NSMutableDictionary {
        let keys = try unarchiver.elements(record, at: index, "NS.keys", "NS.key.", areKeys: true)
        let values = try unarchiver.elements(record, at: index, "NS.objects", "NS.object.")
        return try Hashing.dictionary(keys, values, into: unarchiver.collection(index, as: NSMutableDictionary.self))
    }

    /// The most additions to a counted set in total: an object with a count is added that many times.
    static let additions = 1 << 20

    @Sendable private static func countedSet(
        _ unarchiver: NSCodingUnarchiver, _ record: ArchivedRecord, _ index: Int
    ) throws -> NSObject {
        var elements: [NSObject] = []
        var costs: [ComparisonCost] = []
        var counts: [Int] = []
        // GNUstep writes the count and the pairs in order; Apple writes each under a key.
        let isOrdered =
            record["NS.count"] == nil
            && unarchiver.frames[unarchiver.frames.count - 1]
                .value(forStoredKey: "$0") != nil
        let count: Int =
            isOrdered
            ? try Scalar.integer(try unarchiver.nextValue("I")) : try unarchiver.whole("NS.count", in: 0...additions)
        for position in 0..<max(0, min(count, record.values.count)) {
            // The frame finds a key at once; the record would search all of them.
            let value =
                isOrdered
                ? try unarchiver.nextValue("@")
                : unarchiver.frames[unarchiver.frames.count - 1].value(forStoredKey: "NS.object\(position)")
            guard let value, let element = try unarchiver.element(value) as? NSObject else {
                throw ArchiveError(.corrupt, "a counted set without its element \(position)")
            }
            elements.append(element)
            costs.append(unarchiver.cost(of: value))
            counts.append(
                isOrdered
                    ? try Scalar.integer(try unarchiver.nextValue("I"))
                    : try unarchiver.whole("NS.count\(position)", in: 1...additions))
        }
        guard elements.count == count, counts.allSatisfy({ (1...additions).contains($0) }),
            counts.reduce(0, +) <= additions
        else { throw ArchiveError(.limit, "a counted set with counts that are missing or too large") }
        // Each addition hashes and compares.
        try unarchiver.work.hash(costs)
        for (cost, count) in zip(costs, counts) where cost.isCollection {
            try unarchiver.work.hash(Array(repeating: cost, count: count))
        }
        try Hashing.check(elements)
        let set = NSCountedSet()
        for (element, count) in zip(elements, counts) {
            for _ in 0..<count { set.add(element) }
        }
        return set
    }
}

extension NSCodingUnarchiver {
    /// The elements of a collection: in one list, or under one key each.
    func elements(
        _ record: ArchivedRecord, at index: Int, _ key: String, _ prefix: String, areKeys: Bool = false
    ) throws -> [NSObject] {
        let values = try storedElements(frames[frames.count - 1], key, prefix)
        var elements: [NSObject] = []
        elements.reserveCapacity(values.count)
        for (position, value) in values.enumerated() {
            here = [.index(position)]
            do {
                // Collections cannot contain nil; like other unarchivers, use `NSNull`.
                let object = try element(value) ?? NSNull()
                guard let element = object as? NSObject else { throw NativeDecoding.noObject(object) }
                if areKeys, case .reference(let index) = value, case .making? = slots[index] {
                    throw ArchiveError(.cycle, "a set or a key that contains itself")
                }
                elements.append(element)
            } catch {
                var located = (error as? ArchiveError) ?? ArchiveError(.thrownByType, "failed", underlying: error)
                if failure == nil { located.prepend(.index(position)) }
                throw located
            }
        }
        if areKeys {
            // Adding a key compares it, which reads the very collection it is added to if the key contains that.
            if collection(index, as: NSObject.self) != nil, elements.contains(where: NativeDecoding.isCollection) {
                throw ArchiveError(.cycle, "a set or a key that contains itself")
            }
            try work.hash(values.map { cost(of: $0) })
            try Hashing.check(elements)
        }
        return elements
    }

    /// The stored elements of a collection.
    func storedElements(_ frame: DecodingFrame, _ key: String, _ prefix: String) throws -> [ArchivedValue] {
        if let stored = frame.record[key] {
            guard case .list(let list) = resolved(stored) else {
                throw ArchiveError(.typeMismatch, "\(key): expected a list, found \(Scalar.kind(stored))")
            }
            return list
        }
        var values: [ArchivedValue] = []
        while let value = frame.value(forStoredKey: "\(prefix)\(values.count)") { values.append(value) }
        return values
    }

    /// The unfinished collection that other objects already refer to.
    func collection<T: NSObject>(_ index: Int, as type: T.Type) -> T? {
        if case .making(let collection?)? = slots[index] { collection as? T } else { nil }
    }
}
