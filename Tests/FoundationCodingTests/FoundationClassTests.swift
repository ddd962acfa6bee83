import Foundation
import FoundationCoding
import KeyedArchive
import Testing

@Suite("Foundation's classes")
struct FoundationClassTests {
    static func roundTrip(_ object: NSObject, _ format: ArchiveFormat) throws -> NSObject {
        let data = try NSCodingArchiver.archivedData(withRootObject: object, format: format)
        let back = try NSCodingUnarchiver.unarchivedObject(
            ofClasses: [object is NSDecimalNumber ? NSDecimalNumber.self : object.classForCoder]
                + AllowedValues.classes, from: data,
            requiringSecureCoding: object is any NSSecureCoding)
        return try #require(back as? NSObject)
    }

    static func values() -> [NSObject] {
        [
            "plain" as NSString, "" as NSString, "$null" as NSString, "é🎉" as NSString, NSMutableString(string: "m"),
            NSData(), NSData(data: Data([0, 255])), NSMutableData(data: Data(repeating: 7, count: 70_000)),
            NSNull(), NSDate(timeIntervalSinceReferenceDate: -12.25), NSURL(string: "http://example.com/a?b=c#d")!,
            NSURL(string: "b/c", relativeTo: URL(string: "http://example.com/a/"))!, NSURL(fileURLWithPath: "/tmp/x y"),
            NSUUID(), [] as NSArray, [1, "two", [3.0]] as NSArray, NSMutableArray(array: [1]),
            NSSet(array: ["a", 1, 2.5]),
            NSMutableSet(array: ["a"]), ["k": ["n": 1], "l": []] as NSDictionary,
            NSMutableDictionary(dictionary: ["a": 1]),
            NSOrderedSet(array: [3, 1, 2]), NSMutableOrderedSet(array: ["b", "a"]), NSIndexSet(), NSIndexSet(index: 7),
            NSIndexSet(indexesIn: NSRange(location: 5, length: 1_000_000)), mutableIndexSet(), NSIndexPath(),
            indexPath([4]), indexPath([0, 300, 70_000, 2]),
            NSError(domain: "d", code: Int.max, userInfo: ["k": "v", "n": 3]), NSError(domain: "e", code: -1),
            attributed([(0, 5, ["a": 1])]), attributed([(0, 2, ["a": 1]), (2, 2, ["b": "x"]), (4, 1, ["a": 1])]),
            NSAttributedString(string: ""), NSMutableAttributedString(string: "text"),
            NSValue(range: NSRange(location: 3, length: 4)), NSValue(point: NSPoint(x: 1.5, y: -2)),
            NSValue(size: NSSize(width: 1, height: 2.25)), NSValue(rect: NSRect(x: 1, y: 2, width: 3, height: 4)),
            NSValue(edgeInsets: NSEdgeInsets(top: 1, left: 2, bottom: 3, right: 4)),
            scalar(Int64.min, "q"), scalar(Int32(-5), "i"), scalar(UInt8(200), "C"), scalar(2.5, "d"),
            scalar(Float(0.1), "f"),
            array([1, 2, 3]), NSTimeZone(name: "Europe/Paris")!, NSTimeZone(forSecondsFromGMT: 3600),
            NSLocale(localeIdentifier: "de_CH"), calendar(), components(),
            expression("a(b+)c"),
            CharacterSet.letters as NSCharacterSet,
            CharacterSet(charactersIn: "xyz").inverted as NSCharacterSet,
            NSCharacterSet(range: NSRange(location: 48, length: 10)), person(), NSURLQueryItem(name: "n", value: nil),
            NSURLQueryItem(name: "n", value: "v"), NSMeasurement(doubleValue: 12.5, unit: UnitLength.miles),
            UnitSpeed.knots,
            UnitTemperature.fahrenheit, UnitFuelEfficiency.milesPerGallon, Unit(symbol: "u"), transform(),
            decimal("-12345678901234567890.12345678901234567"), decimal("0"), decimal("1e100"),
            NSDecimalNumber.notANumber,
        ]
    }

    static func expression(_ pattern: String) -> NSObject {
        (try? NSRegularExpression(pattern: pattern, options: [.caseInsensitive])) ?? NSObject()
    }
    static func mutableIndexSet() -> NSMutableIndexSet {
        let set = NSMutableIndexSet(indexesIn: NSRange(location: 1, length: 2))
        set.add(in: NSRange(location: 1000, length: 50))
        set.add(99_999_999)
        return set
    }
    static func indexPath(_ indices: [Int]) -> NSIndexPath { NSIndexPath(indexes: indices, length: indices.count) }
    static func attributed(_ runs: [(Int, Int, [String: Any])]) -> NSMutableAttributedString {
        let string = NSMutableAttributedString(string: "héllo")
        for (location, length, attributes) in runs {
            string.setAttributes(
                Dictionary(uniqueKeysWithValues: attributes.map { (NSAttributedString.Key($0.key), $0.value) }),
                range: NSRange(location: location, length: length))
        }
        return string
    }
    static func scalar<T>(_ value: T, _ type: String) -> NSValue {
        withUnsafeBytes(of: value) { NSValue(bytes: $0.baseAddress!, objCType: type) }
    }
    static func array(_ numbers: [Int32]) -> NSValue {
        numbers.withUnsafeBytes { NSValue(bytes: $0.baseAddress!, objCType: "[\(numbers.count)i]") }
    }
    static func calendar() -> NSCalendar {
        let calendar = NSCalendar(identifier: .hebrew)!
        calendar.timeZone = TimeZone(identifier: "Asia/Tokyo")!
        calendar.locale = Locale(identifier: "he_IL")
        calendar.firstWeekday = 3
        calendar.minimumDaysInFirstWeek = 4
        return calendar
    }
    static func components() -> NSDateComponents {
        let components = NSDateComponents()
        components.year = 2026
        components.day = -3
        components.timeZone = TimeZone(identifier: "GMT")
        return components
    }
    static func person() -> NSPersonNameComponents {
        let person = NSPersonNameComponents()
        person.givenName = "Grace"
        person.familyName = "Hopper"
        return person
    }
    static func transform() -> NSAffineTransform {
        let transform = NSAffineTransform()
        transform.rotate(byDegrees: 33)
        transform.translateX(by: 1.1, yBy: 2)
        return transform
    }
    static let truth: NSNumber.Type = type(of: NSNumber(value: true))
    static func decimal(_ text: String) -> NSDecimalNumber { NSDecimalNumber(string: text) }

    @Test("Each comes back equal, and of its class", arguments: SeedTests.formats)
    func equal(format: ArchiveFormat) throws {
        for value in Self.values() {
            let back: NSObject
            do {
                back = try Self.roundTrip(value, format)
            } catch {
                Issue.record("\(type(of: value)): \(error)")
                continue
            }
            let isSameClass =
                back.classForCoder == value.classForCoder && (back is NSDecimalNumber) == (value is NSDecimalNumber)
            #expect(isSameClass, "\(type(of: value)) became \(type(of: back))")
            if value === NSDecimalNumber.notANumber {
                #expect((back as? NSDecimalNumber)?.doubleValue.isNaN == true)
            } else {
                #expect(back.isEqual(value), "\(type(of: value)): \(value), \(back)")
            }
        }
    }

    @Test("Numbers keep their kind: true, 1 and 1.0 are three things")
    func numbersInFoundationClass() throws {
        let numbers: [NSNumber] = [
            true, false, 1, 0, -1, 1.0, 0.0, -0.0, NSNumber(value: Float(1)), NSNumber(value: Float.nan),
            NSNumber(value: Double.infinity), NSNumber(value: Int64.min), NSNumber(value: Int64.max),
            NSNumber(value: UInt64.max), NSNumber(value: Int8(-3)), NSNumber(value: UInt32.max),
        ]
        for format in SeedTests.formats {
            let array = NSMutableArray()
            for number in numbers { array.add(number) }
            let back = try #require(try Self.roundTrip(array, format) as? NSArray)
            for (old, new) in zip(numbers, back.compactMap { $0 as? NSNumber }) {
                let (oldType, newType) = (String(cString: old.objCType), String(cString: new.objCType))
                if "fdQ".contains(oldType) { #expect(newType == oldType) } else { #expect(!"fd".contains(newType)) }
                let (wasTruth, isTruth) = (type(of: old) == Self.truth, type(of: new) == Self.truth)
                #expect(wasTruth == isTruth)
                #expect(new.stringValue == old.stringValue)
                #expect(new.doubleValue.bitPattern == old.doubleValue.bitPattern)
            }
            #expect(back.count == numbers.count)
        }
    }

    @Test("A locale whose identifier no locale has is refused", arguments: ["汥", "de CH", "en\u{0}US"])
    func oddLocale(identifier: String) throws {
        let data = try NSCodingArchiver.archivedData(withRootObject: NSLocale(localeIdentifier: identifier))
        #expect(throws: ArchiveError.self) {
            try NSCodingUnarchiver.unarchivedObject(ofClasses: [NSLocale.self], from: data)
        }
    }

    @Test("A counted set keeps its counts")
    func countedSetInFoundationClass() throws {
        let set = NSCountedSet(array: ["a", "b", "a", "a"])
        let back = try #require(try Self.roundTrip(set, .binary) as? NSCountedSet)
        #expect((back.count, back.count(for: "a"), back.count(for: "b")) == (2, 3, 1))
    }

    @Test("Formatters format as before")
    func formatters() throws {
        let bytes = ByteCountFormatter()
        bytes.countStyle = .binary
        bytes.includesActualByteCount = true
        let sameBytes = try #require(try Self.roundTrip(bytes, .xml) as? ByteCountFormatter)
        #expect(sameBytes.string(fromByteCount: 123_456_789) == bytes.string(fromByteCount: 123_456_789))

        let iso = ISO8601DateFormatter()
        iso.formatOptions = [.withYear, .withMonth, .withDashSeparatorInDate]
        iso.timeZone = TimeZone(identifier: "Asia/Tokyo")
        let sameISO = try #require(try Self.roundTrip(iso, .binary) as? ISO8601DateFormatter)
        #expect(sameISO.formatOptions == iso.formatOptions)
        #expect(sameISO.timeZone == iso.timeZone)

        let interval = DateIntervalFormatter()
        interval.dateStyle = .short
        interval.timeStyle = .none
        let sameInterval = try #require(try Self.roundTrip(interval, .binary) as? DateIntervalFormatter)
        #expect(sameInterval.dateStyle == .short)
        #expect(sameInterval.timeStyle == .none)
    }

    @Test("A match of an expression comes back with its ranges, and a notification with its content")
    func othersInFoundationClass() throws {
        let expression = try NSRegularExpression(pattern: "(a)(x)?(b)")
        let match = try #require(expression.firstMatch(in: "..ab", range: NSRange(location: 0, length: 4)))
        let data = try NSCodingArchiver.archivedData(withRootObject: match)
        let back = try #require(
            try NSCodingUnarchiver.unarchivedObject(ofClasses: [NSTextCheckingResult.self], from: data)
                as? NSTextCheckingResult)
        #expect((0..<4).map { back.range(at: $0) } == (0..<4).map { match.range(at: $0) })
        #expect(back.regularExpression == expression)

        let note = NSNotification(name: Notification.Name("n"), object: "o" as NSString, userInfo: ["k": 1])
        let same = try #require(try Self.roundTrip(note, .binary) as? NSNotification)
        #expect(same.name.rawValue == "n")
        #expect(same.object as? String == "o")
        #expect(same.userInfo as? [String: Int] == ["k": 1])
    }
}
