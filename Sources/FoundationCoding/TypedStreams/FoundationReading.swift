import Foundation
import KeyedArchive

/// Foundation's classes as their `encodeWithCoder:` has written them into typedstreams.
///
/// Foundation's own initializers on Linux read keys, and end the program without them: they are never called here.
enum FoundationReading {
    /// Makes an object from the values of the unarchiver's innermost frame; the number is its label.
    typealias Maker = @Sendable (NSCodingTypedStreamUnarchiver, Int, ArchivedAncestry) throws -> NSObject

    /// The maker of exactly this class; nil if the class decodes itself.
    static func maker(of type: AnyClass) -> Maker? { makers[ObjectIdentifier(type)] }

    /// The classes by their names in archives.
    static let classes: [String: AnyClass] = {
        var classes: [String: AnyClass] = [
            "NSCalendarDate": NSDate.self, "NSDecimalNumberPlaceholder": NSDecimalNumber.self,
        ]
        for entry in all { classes[ClassNames.name(of: entry.0)] = entry.0 }
        return classes
    }()

    private static let makers: [ObjectIdentifier: Maker] = {
        var makers: [ObjectIdentifier: Maker] = [:]
        for entry in all { makers[ObjectIdentifier(entry.0)] = entry.1 }
        return makers
    }()

    private static let all: [(AnyClass, Maker)] = [
        (NSNull.self, { _, _, _ in NSNull() }),
        (NSString.self, { unarchiver, _, _ in NSString(string: try text(unarchiver)) }),
        (NSMutableString.self, { unarchiver, _, _ in NSMutableString(string: try text(unarchiver)) }),
        (NSData.self, { unarchiver, _, _ in NSData(data: try unarchiver.nextData() ?? Data()) }),
        (NSMutableData.self, { unarchiver, _, _ in NSMutableData(data: try unarchiver.nextData() ?? Data()) }),
        (NSArray.self, { unarchiver, label, _ in try array(unarchiver, label).copy() as? NSArray ?? NSArray() }),
        (NSMutableArray.self, { unarchiver, label, _ in try array(unarchiver, label) }),
        (NSSet.self, { unarchiver, label, _ in try set(unarchiver, label).copy() as? NSSet ?? NSSet() }),
        (NSMutableSet.self, { unarchiver, label, _ in try set(unarchiver, label) }),
        (
            NSDictionary.self,
            { unarchiver, label, _ in try dictionary(unarchiver, label).copy() as? NSDictionary ?? NSDictionary() }
        ),
        (NSMutableDictionary.self, { unarchiver, label, _ in try dictionary(unarchiver, label) }),
        (NSNumber.self, { unarchiver, _, _ in try number(unarchiver) }),
        (NSValue.self, { unarchiver, _, _ in try value(unarchiver) }),
        (NSDecimalNumber.self, decimal),
        (NSDate.self, date),
        (NSTimeZone.self, { unarchiver, _, _ in try timeZone(unarchiver) }),
        (NSURL.self, { unarchiver, _, _ in try url(unarchiver) }),
        (
            NSAttributedString.self,
            { unarchiver, _, _ in NSAttributedString(attributedString: try attributed(unarchiver)) }
        ),
        (NSMutableAttributedString.self, { unarchiver, _, _ in try attributed(unarchiver) }),
    ]

    // MARK: Strings

    /// The text of `+`, in which bytes that are not UTF-8 are replaced.
    private static func text(_ unarchiver: NSCodingTypedStreamUnarchiver) throws -> String {
        let value = try unarchiver.next("+").value
        unarchiver.endValue()
        guard case .text(let text) = value else { return "" }
        return text.description
    }

    // MARK: Collections

    private static func count(_ unarchiver: NSCodingTypedStreamUnarchiver, _ code: StaticString) throws -> Int {
        guard case .integer(let count) = try unarchiver.next(code).value, count >= 0 else {
            throw ArchiveError(.corrupt, "a collection with a negative count")
        }
        // Each element takes a byte or more, so that a larger one ends with the values.
        guard count <= unarchiver.limits.collection else {
            throw ArchiveError(.limit, "a collection of more than \(unarchiver.limits.collection) elements")
        }
        unarchiver.endValue()
        return Int(count)
    }

    /// The most levels of collections.
    ///
    /// Foundation frees a collection's elements by recursion, which takes some 200 bytes a level.
    private static let mostLevels = 1000

    private static func expectShallow(_ unarchiver: NSCodingTypedStreamUnarchiver) throws {
        guard unarchiver.frames[unarchiver.frames.count - 1].height <= mostLevels else {
            throw ArchiveError(.limit, "a collection with objects inside one another more than \(mostLevels) deep")
        }
    }

    /// The next element; as in other unarchivers nil becomes `NSNull`.
    private static func element(_ object: AnyObject?) throws -> NSObject {
        guard let object else { return NSNull() }
        guard let element = object as? NSObject else { throw NativeDecoding.noObject(object) }
        return element
    }

    private static func array(_ unarchiver: NSCodingTypedStreamUnarchiver, _ label: Int) throws -> NSMutableArray {
        let count = try count(unarchiver, "i")
        var elements: [NSObject] = []
        for _ in 0..<count { elements.append(try element(try unarchiver.nextElement())) }
        try expectShallow(unarchiver)
        unarchiver.frames[unarchiver.frames.count - 1].cost.isCollection = true
        let array = unarchiver.collection(label, as: NSMutableArray.self) ?? NSMutableArray(capacity: count)
        for element in elements { array.add(element) }
        return array
    }

    private static func set(_ unarchiver: NSCodingTypedStreamUnarchiver, _ label: Int) throws -> NSMutableSet {
        var elements: [NSObject] = []
        var costs: [ComparisonCost] = []
        for _ in 0..<(try count(unarchiver, "I")) {
            elements.append(try key(unarchiver, "an element of a set"))
            costs.append(unarchiver.lastCost)
        }
        try expectComplete(unarchiver, label, elements)
        try hash(unarchiver, costs)
        try Hashing.check(elements)
        let set = unarchiver.collection(label, as: NSMutableSet.self) ?? NSMutableSet()
        for element in elements { set.add(element) }
        try expectDifferent(set.count, elements.count)
        return set
    }

    private static func dictionary(
        _ unarchiver: NSCodingTypedStreamUnarchiver, _ label: Int
    ) throws -> NSMutableDictionary {
        var keys: [NSObject] = []
        var costs: [ComparisonCost] = []
        var values: [NSObject] = []
        for _ in 0..<(try count(unarchiver, "i")) {
            keys.append(try key(unarchiver, "a key"))
            costs.append(unarchiver.lastCost)
            values.append(try element(try unarchiver.nextElement()))
        }
        try expectShallow(unarchiver)
        try expectComplete(unarchiver, label, keys)
        try hash(unarchiver, costs)
        let dictionary = try Hashing.dictionary(
            keys, values, into: unarchiver.collection(label, as: NSMutableDictionary.self))
        try expectDifferent(dictionary.count, keys.count)
        unarchiver.lastEntries = (dictionary, zip(keys, values).map { ($0, $1) })
        return dictionary
    }

    /// Checks that no element was lost.
    ///
    /// Strings that differ in the archive are equal if they have bytes that are not UTF-8, which are replaced, or other forms
    /// of the same characters.
    private static func expectDifferent(_ found: Int, _ stored: Int) throws {
        guard found != stored else { return }
        throw ArchiveError(.unsupported, "keys, or elements of a set, that are equal as objects of Foundation")
    }

    /// Takes the work of making a set or a dictionary, and adds it to what the collection takes to compare.
    private static func hash(_ unarchiver: NSCodingTypedStreamUnarchiver, _ keys: [ComparisonCost]) throws {
        try unarchiver.work.hash(keys)
        unarchiver.frames[unarchiver.frames.count - 1].cost.isCollection = true
        unarchiver.frames[unarchiver.frames.count - 1].cost.hash(keys)
    }

    private static func key(_ unarchiver: NSCodingTypedStreamUnarchiver, _ what: StaticString) throws -> NSObject {
        try element(try unarchiver.nextShallowElement(what))
    }

    /// Adding a key compares it, which reads the very collection it is added to if the key contains that.
    private static func expectComplete(
        _ unarchiver: NSCodingTypedStreamUnarchiver, _ label: Int, _ keys: [NSObject]
    ) throws {
        guard unarchiver.collection(label, as: NSObject.self) != nil, keys.contains(where: NativeDecoding.isCollection)
        else { return }
        throw ArchiveError(.cycle, "a set or a key that contains itself")
    }
}
