import Foundation
import KeyedArchive

#if !canImport(Darwin)
    import FoundationCoding
#endif

extension OwnArchives {
    /// Objects of Foundation's classes, each as binary and XML, under the names by which tests know those of others.
    static func foundation() throws -> [OwnArchives] {
        try formats.flatMap { name, format in
            try (simple() + values()).map { try made("\($0.name).\(name)", archive($0.object, format), $0.text) }
        }
    }

    private static func archive(_ object: NSObject, _ format: ArchiveFormat) throws -> [UInt8] {
        #if canImport(Darwin)
            let archiver = NSKeyedArchiver(requiringSecureCoding: false)
            archiver.outputFormat = format == .xml ? .xml : .binary
            archiver.encode(object, forKey: NSKeyedArchiveRootObjectKey)
            return Array(archiver.encodedData)
        #else
            return Array(try NSCodingArchiver.archivedData(withRootObject: object, format: format))
        #endif
    }

    private typealias Made = (name: String, object: NSObject, text: String?)

    /// Strings, numbers and what contains them, with their text.
    private static func simple() -> [Made] {
        let url = NSURL(string: "https://example.com/foo/bar?a=b#hash")!
        let date = NSDate(timeIntervalSinceReferenceDate: Double(bitPattern: 0x41D2_09D4_5E00_0000))
        let numbers = [1, 2, 3, 4, 5]
        let many = (0..<700).map { "s\($0)" }
        var deep: NSObject = "x" as NSString
        for _ in 0..<60 { deep = [deep] as NSArray }
        let uuid = "E98A110A-1409-47AB-B9C9-66F2633F570F"
        return [
            ("nsmutabledata", NSMutableData(data: Data("hello".utf8)), "<68656c6c6f>"),
            ("gnustep-big", many as NSArray, "[\(many.map { "\"\($0)\"" }.joined(separator: ","))]"),
            ("gnustep-deep60", deep, String(repeating: "[", count: 60) + "\"x\"" + String(repeating: "]", count: 60)),
            ("gnustep-orderedset", NSOrderedSet(array: ["o1", "o2"]), "os(\"o1\",\"o2\")"),
            ("gnustep-set", NSSet(array: ["x", "y"]), "s(\"x\",\"y\")"),
            (
                "passthrough", ["ObjectType": "passthrough", "Value": true] as NSDictionary,
                "{\"ObjectType\":\"passthrough\",\"Value\":true}"
            ),
            ("nsnull", ["Value": NSNull()] as NSDictionary, "{\"Value\":null}"),
            ("empty", NSArray(), "[]"),
            ("date", date, "t41d209d45e000000"),
            ("nsData", NSData(data: Data("Some data!".utf8)), "<536f6d65206461746121>"),
            ("plainString", "Some string!" as NSString, "\"Some string!\""),
            ("nsmutablestring", NSMutableString(string: "caf\u{E9}"), "\"caf\\u{e9}\""),
            (
                "reference", ["copyOne": url, "copyTwo": url] as NSDictionary,
                "{\"copyOne\":l\"https://example.com/foo/bar?a=b#hash\"|,"
                    + "\"copyTwo\":l\"https://example.com/foo/bar?a=b#hash\"|}"
            ),
            (
                "nested", ["level": 0, "data": ["level": 1, "path": ["zero", "one"]]] as NSDictionary,
                "{\"data\":{\"level\":i1,\"path\":[\"zero\",\"one\"]},\"level\":i0}"
            ),
            ("uint64", [NSNumber(value: UInt64.max), -7] as NSArray, "[i18446744073709551615,i-7]"),
            ("reals", [1.5, -2.0] as NSArray, "[d3ff8000000000000,dc000000000000000]"),
            ("UUIDv4", NSUUID(uuidString: uuid) ?? NSUUID(), "u" + uuid),
            (
                "NSKeyedUnarchiver-ArrayTest", ["baa", "baa", "black", "sheep"] as NSArray,
                "[\"baa\",\"baa\",\"black\",\"sheep\"]"
            ),
            ("NSSet-Numbers", NSSet(array: numbers), "s(i1,i2,i3,i4,i5)"), ("NSSet-Empty", NSSet(), "s()"),
            ("NSMutableSet-Empty", NSMutableSet(), "s()"),
            ("NSOrderedSet-Numbers", NSOrderedSet(array: numbers), "os(i1,i2,i3,i4,i5)"),
            ("NSOrderedSet-Empty", NSOrderedSet(), "os()"),
        ]
    }

    /// Other classes, which have no text.
    private static func values() -> [Made] {
        let attributed = NSMutableAttributedString(string: "attributed")
        attributed.setAttributes([NSAttributedString.Key("a"): 1], range: NSRange(location: 0, length: 3))
        let indexes = NSMutableIndexSet(indexesIn: NSRange(location: 1, length: 2))
        indexes.add(in: NSRange(location: 100, length: 5))
        let path = [4, 8, 15, 16, 23, 42]
        let numbers: [Int32] = [1, 2, 3]
        let concrete = numbers.withUnsafeBytes { NSValue(bytes: $0.baseAddress!, objCType: "[3i]") }
        let transform = NSAffineTransform()
        transform.rotate(byRadians: 0.2706)
        return [
            ("gnustep-attrstring", attributed), ("gnustep-calendardate", NSDate(timeIntervalSinceReferenceDate: 12)),
            ("gnustep-countedset", NSCountedSet(array: ["x", "y", "x"])),
            ("NSCountedSet", NSCountedSet(array: [1, 1])),
            ("gnustep-decimalnumber", NSDecimalNumber(string: "1.25")),
            ("gnustep-error", NSError(domain: "dom", code: -3, userInfo: ["i": "u"])),
            ("gnustep-indexset", NSIndexSet(indexesIn: NSRange(location: 3, length: 4))),
            (
                "gnustep-notification",
                NSNotification(name: Notification.Name("n"), object: "o" as NSString, userInfo: ["k": 1])
            ),
            ("NotificationTest", NSNotification(name: Notification.Name("m"), object: nil)),
            ("gnustep-timezone", NSTimeZone(forSecondsFromGMT: 0)),
            (
                "gnustep-url-base",
                NSURL(string: "a/b", relativeTo: URL(string: "http://example.com/x/"))!
            ),
            ("URLTest", NSURL(fileURLWithPath: "/tmp/x y")), ("UUIDTest", NSUUID()),
            ("NSIndexPath-ManyIndices", NSIndexPath(indexes: path, length: path.count)),
            ("NSIndexPath-Empty", NSIndexPath()), ("NSIndexSet", NSIndexSet(index: 7)), ("NSMutableIndexSet", indexes),
            ("NSMeasurement-Angle", NSMeasurement(doubleValue: 90, unit: UnitAngle.degrees)),
            ("ConcreteValueTest", concrete), ("RangeTest", NSValue(range: NSRange(location: 3, length: 4))),
            ("RectTest", NSValue(rect: NSRect(x: 1, y: 2, width: 3, height: 4))),
            ("EdgeInsetsTest", NSValue(edgeInsets: NSEdgeInsets(top: 1, left: 2, bottom: 3, right: 4))),
            ("NSTextCheckingResult-ComplexRegex", match()), ("NSAffineTransform", transform),
            ("ByteCountFormatter", ByteCountFormatter()), ("ISO8601DateFormatter", ISO8601DateFormatter()),
            ("DateIntervalFormatter", DateIntervalFormatter()), ("NSLocale", NSLocale(localeIdentifier: "de_CH")),
        ].map { ($0.0, $0.1, nil) }
    }

    /// What an expression with eight groups finds.
    private static func match() -> NSObject {
        let text = "x12345678"
        let expression = try? NSRegularExpression(pattern: "x((.)(.)(.)(.)(.)(.)(.).)")
        return expression?.firstMatch(in: text, range: NSRange(location: 0, length: 9)) ?? NSObject()
    }
}
