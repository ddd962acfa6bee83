import Foundation
import KeyedArchive

/// Makes sets and dictionaries of objects a stranger chose.
///
/// Foundation's hashes are known to all: a peer could choose thousands of keys with one hash, or keys which are graphs
/// whose comparison never ends.
enum Hashing {
    /// Keys with one hash, at most.
    ///
    /// Comparing that many with each other takes milliseconds.
    private static let collisions = 1024
    /// Objects inside one key, counted as often as they are met.
    private static let size = 10_000

    /// Checks the elements of a set, or the keys of a dictionary.
    static func check(_ keys: [NSObject]) throws {
        for key in keys {
            var budget = size
            try check(key, &budget)
        }
        guard keys.count > collisions else { return }
        var counts: [Int: Int] = [:]
        for key in keys {
            counts[key.hash, default: 0] += 1
            guard counts[key.hash, default: 0] <= collisions else {
                throw ArchiveError(.limit, "more than \(collisions) keys with one hash")
            }
        }
    }

    private static func check(_ key: NSObject, _ budget: inout Int) throws {
        budget -= 1
        guard budget > 0 else { throw ArchiveError(.limit, "a key of more than \(size) objects") }
        switch key {
        case is NSArray, is NSSet, is NSOrderedSet:
            for element in RawElements.list(key) {
                if let element = element as? NSObject { try check(element, &budget) }
            }
        case is NSDictionary:
            for pair in RawElements.pairs(key) {
                if let key = pair.key as? NSObject { try check(key, &budget) }
                if let value = pair.value as? NSObject { try check(value, &budget) }
            }
        case is NSDecimalNumber, is NSError:
            // Foundation's hash of a decimal number calls itself without end, and that of an error traps.
            throw ArchiveError(.unsupported, "\(ClassNames.name(of: type(of: key))) as a key")
        case let measurement as NSMeasurement:
            // Its hash is its value as an Int, whatever the value is.
            guard abs(measurement.doubleValue) < 0x1p62 else {
                throw ArchiveError(.unsupported, "a measurement out of range as a key")
            }
        default: break
        }
    }

    /// A dictionary of keys and values, or an existing one that is filled with them.
    static func dictionary(_ keys: [NSObject], _ values: [NSObject], into existing: NSMutableDictionary?) throws
        -> NSMutableDictionary
    {
        guard keys.count == values.count else {
            throw ArchiveError(.corrupt, "\(keys.count) keys for \(values.count) values")
        }
        try check(keys)
        let dictionary = existing ?? NSMutableDictionary(capacity: keys.count)
        for (key, value) in zip(keys, values) { dictionary[key] = value }
        return dictionary
    }
}
