import Foundation
import KeyedArchive

/// Makes sets and dictionaries of objects from untrusted archives.
///
/// Foundation's hashes are predictable: a peer could choose thousands of keys with the same hash, or keys that are
/// graphs whose comparison never ends.
enum Hashing {
    /// The most keys with the same hash.
    ///
    /// Comparing that many with each other takes milliseconds.
    private static let collisions = 1024
    /// The most objects inside one key, counted for each occurrence.
    private static let size = 10_000

    /// Checks the elements of a set, or the keys of a dictionary.
    static func check(_ keys: [NSObject]) throws {
        for key in keys {
            var budget = size
            try check(key, &budget)
        }
        try checkEquals(keys)
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
                if key is NSSet { try checkHashable(element) }
                if let element = element as? NSObject { try check(element, &budget) }
            }
        case is NSDictionary:
            for pair in RawElements.pairs(key) {
                try checkHashable(pair.key)
                if let key = pair.key as? NSObject { try check(key, &budget) }
                if let value = pair.value as? NSObject { try check(value, &budget) }
            }
        case let date as NSDate where date.timeIntervalSinceReferenceDate.isNaN:
            // Foundation considers it equal to every date.
            throw ArchiveError(.unsupported, "NaN as a date key")
        default:
            guard isFit(key) else {
                throw ArchiveError(.unsupported, "\(ClassNames.name(of: type(of: key))) as a key")
            }
        }
    }

    /// Checks an element of a set, or a key of a dictionary, that is in a key itself.
    ///
    /// To compare such keys, Foundation makes Swift's sets and dictionaries of them, and traps because Swift’s arrays and
    /// dictionaries of any objects have no hash.
    private static func checkHashable(_ element: AnyObject) throws {
        guard element is NSArray || element is NSDictionary else { return }
        throw ArchiveError(.unsupported, "a key with a set or keys that contain an array or a dictionary")
    }

    /// Whether an object may be a key: its class is the user's, or a Foundation class whose hash agrees with equality.
    ///
    /// The hash of a decimal number recurses without end, the hash of an error traps, and equal units have different
    /// hashes. A set with such elements traps.
    private static func isFit(_ key: NSObject) -> Bool {
        switch key {
        case is NSDecimalNumber: false
        case is NSString, is NSValue, is NSData, is NSDate, is NSURL, is NSUUID, is NSNull, is NSIndexSet,
            is NSIndexPath,
            is NSTimeZone, is NSLocale:
            true
        default: !Ancestry.of(type(of: key)).hasFoundations
        }
    }

    /// The most keys other than strings, numbers and the like: all are compared with each other.
    private static let unusual = 64

    /// Checks that equal keys have the same hash; otherwise a set traps.
    ///
    /// Hashes may differ for a real and an integer beyond its precision, for composed and decomposed forms of a letter
    /// with an accent, and for some collections.
    private static func checkEquals(_ keys: [NSObject]) throws {
        var numbers: [Double: Int] = [:]
        var texts: [String: Int] = [:]
        var others: [NSObject] = []
        for key in keys {
            var known = key.hash
            switch key {
            case let number as NSNumber:
                // Foundation considers all NaNs equal.
                let value = number.doubleValue.isNaN ? .infinity : number.doubleValue
                known = numbers.updateValue(key.hash, forKey: value) ?? known
            case let text as NSString: known = texts.updateValue(key.hash, forKey: text as String) ?? known
            case is NSData, is NSDate, is NSURL, is NSUUID: break
            default:
                if Ancestry.of(type(of: key)).hasFoundations { others.append(key) }
            }
            guard known == key.hash else { throw ArchiveError(.unsupported, "equal keys with different hashes") }
        }
        guard others.count <= unusual else {
            throw ArchiveError(.limit, "more than \(unusual) keys of unusual classes")
        }
        for (position, one) in others.enumerated() {
            for other in others[(position + 1)...] where one.hash != other.hash && one.isEqual(other) {
                throw ArchiveError(.unsupported, "equal keys with different hashes")
            }
        }
    }

    /// A dictionary of keys and values; fills an existing one if there is one.
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
