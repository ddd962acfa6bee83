// Feeds the unarchivers for NSCoding classes bytes from libFuzzer. An archive may name any Foundation class and a few
// test classes, which decode by key, in order, or carelessly. Nothing may trap, hang or take memory without bound.
// Decoded objects are used and archived again, and that archive must open.

import Foundation
import FoundationCoding
import FoundationNetworking
import KeyedArchive

/// Decodes by key, with references back.
final class FuzzNode: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }
    let name: String
    let number: Int
    var children: NSArray = []
    var anything: NSObject?
    var bytes = Data()
    weak var parent: FuzzNode?

    /// All instances that were decoded.
    ///
    /// An archive may give them cycles, which nothing else breaks.
    nonisolated(unsafe) private static var made: [FuzzNode] = []

    static func takeApart() {
        for node in made {
            node.children = []
            node.anything = nil
        }
        made = []
    }

    init(_ name: String, _ number: Int, _ children: [FuzzNode], anything: NSObject? = nil) {
        self.name = name
        self.number = number
        self.children = children as NSArray
        self.anything = anything
        super.init()
        for child in children { child.parent = self }
    }

    init?(coder: NSCoder) {
        guard let name = coder.decodeObject(of: NSString.self, forKey: "name") else { return nil }
        self.name = name as String
        number = coder.decodeInteger(forKey: "number") &+ Int(coder.decodeCInt(forKey: "number"))
        super.init()
        children = coder.decodeObject(of: [NSArray.self, FuzzNode.self], forKey: "children") as? NSArray ?? []
        anything = coder.decodeObject(of: FuzzDoor.classes, forKey: "anything") as? NSObject
        bytes = coder.withDecodedUnsafeBytes(forKey: "bytes") { $0.map { Data($0) } } ?? Data()
        coder.decodeReference(ofClass: FuzzNode.self, forKey: "parent") { [weak self] in self?.parent = $0 }
        Self.made.append(self)
    }

    func encode(with coder: NSCoder) {
        coder.encode(name, forKey: "name")
        coder.encode(number, forKey: "number")
        coder.encode(children, forKey: "children")
        coder.encode(anything, forKey: "anything")
        bytes.withUnsafeBytes {
            coder.encodeBytes($0.bindMemory(to: UInt8.self).baseAddress, length: $0.count, forKey: "bytes")
        }
        coder.encodeConditionalObject(parent, forKey: "parent")
    }
}

/// Decodes in order.
final class FuzzRow: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }
    var number: Int32 = 5
    var reals: [Float] = [1, 2, 3]
    var point = NSPoint(x: 1, y: 2)
    var title: NSString? = "row"
    var data = Data([1, 2])
    var list: NSArray = [1, "two"]

    override init() {}

    init?(coder: NSCoder) {
        coder.decodeValue(ofObjCType: "i", at: &number)
        coder.decodeArray(ofObjCType: "f", count: reals.count, at: &reals)
        coder.decodeValue(ofObjCType: "{CGPoint=dd}", at: &point)
        title = coder.decodeObject() as? NSString
        data = coder.decodeData() ?? Data()
        list = coder.decodePropertyList() as? NSArray ?? []
        // The archive determines the types of the next values.
        for type in ["c", "S", "q", "Q", "B", "*", "@", "#", "[2[2s]]"] {
            var memory = [UInt64](repeating: 0, count: 4)
            guard coder.error == nil else { return }
            if type == "@" {
                var object: Any?
                withUnsafeMutablePointer(to: &object) { coder.decodeValue(ofObjCType: type, at: $0) }
            } else {
                coder.decodeValue(ofObjCType: type, at: &memory)
            }
        }
    }

    func encode(with coder: NSCoder) {
        coder.encodeValue(ofObjCType: "i", at: &number)
        coder.encodeArray(ofObjCType: "f", count: reals.count, at: &reals)
        coder.encodeValue(ofObjCType: "{CGPoint=dd}", at: &point)
        coder.encode(title)
        coder.encode(data)
        coder.encodePropertyList(list)
        var (small, short, long, huge, flag) = (Int8(-1), UInt16(9), Int64.min, UInt64.max, true)
        coder.encodeValue(ofObjCType: "c", at: &small)
        coder.encodeValue(ofObjCType: "S", at: &short)
        coder.encodeValue(ofObjCType: "q", at: &long)
        coder.encodeValue(ofObjCType: "Q", at: &huge)
        coder.encodeValue(ofObjCType: "B", at: &flag)
        "text".withCString { text in
            var text: UnsafePointer<CChar>? = text
            coder.encodeValue(ofObjCType: "*", at: &text)
        }
        coder.encode(list)
        var type: AnyClass? = NSArray.self
        withUnsafePointer(to: &type) { coder.encodeValue(ofObjCType: "#", at: $0) }
        var shorts: [Int16] = [1, 2, 3, 4]
        coder.encodeValue(ofObjCType: "[2[2s]]", at: &shorts)
    }
}

/// Decodes every type under every key, as a faulty class might.
final class FuzzConfused: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }
    private static let keys = [
        "name", "children", "NS.objects", "NS.keys", "NS.string", "NS.data", "NS.time", "NSString", "root", "$0",
        "$class",
    ]

    init?(coder: NSCoder) {
        for key in Self.keys {
            _ = coder.containsValue(forKey: key)
            _ = coder.decodeObject(of: FuzzDoor.classes, forKey: key)
            _ = coder.decodeObject(forKey: key)
            _ = coder.decodeRect(forKey: key)
            _ = coder.decodeFloat(forKey: key)
        }
        while coder.error == nil, coder.decodeObject() != nil {}
    }

    func encode(with coder: NSCoder) {}
}

/// Decodes with Foundation's initializers.
final class FuzzUnit: Dimension, @unchecked Sendable {
    required init(symbol: String) { super.init(symbol: symbol, converter: UnitConverterLinear(coefficient: 2)) }

    required init(symbol: String, converter: UnitConverter) { super.init(symbol: symbol, converter: converter) }

    required init?(coder: NSCoder) { super.init(coder: coder) }
}

/// Decodes with Foundation's initializers.
final class FuzzError: NSError, @unchecked Sendable {
    required init?(coder: NSCoder) { super.init(coder: coder) }

    init(code: Int) { super.init(domain: "fuzz", code: code, userInfo: ["NSLocalizedDescription": "of its own"]) }
}

enum FuzzDoor {
    static let own: [AnyClass] = [FuzzNode.self, FuzzRow.self, FuzzConfused.self, FuzzUnit.self, FuzzError.self]

    static let foundation: [AnyClass] = [
        NSString.self, NSData.self, NSArray.self, NSSet.self, NSCountedSet.self, NSOrderedSet.self, NSDictionary.self,
        NSMutableString.self, NSMutableData.self, NSMutableArray.self, NSMutableSet.self, NSMutableDictionary.self,
        NSNumber.self, NSDecimalNumber.self, NSNull.self, NSDate.self, NSUUID.self, NSURL.self, NSIndexSet.self,
        NSIndexPath.self, NSError.self, NSNotification.self, NSAttributedString.self, NSValue.self, NSTimeZone.self,
        NSLocale.self, NSCalendar.self, NSDateComponents.self, NSRegularExpression.self, NSTextCheckingResult.self,
        NSCharacterSet.self, NSPersonNameComponents.self, NSURLQueryItem.self, NSAffineTransform.self,
        NSMeasurement.self, Unit.self, ISO8601DateFormatter.self, ByteCountFormatter.self, DateIntervalFormatter.self,
        NSDateInterval.self, NSDecimalNumberHandler.self, DateFormatter.self, NumberFormatter.self,
        URLCredential.self, URLResponse.self, HTTPURLResponse.self, NSURLRequest.self, NSMutableURLRequest.self,
    ]

    static let classes = own + foundation

    static let limits: ArchiveLimits = {
        var limits = ArchiveLimits()
        limits.bytes = 8 << 20
        limits.objects = 1 << 16
        limits.chain = 300
        return limits
    }()

    /// Archives an object again, and opens the new archive.
    static func show(_ object: Any?) {
        guard let object = object as? NSObject else { return }
        // Foundation's own hash of these classes never ends, or traps.
        if !(object is NSDecimalNumber || object is NSMeasurement || object is NSError || isCollection(object)) {
            _ = object.hash
            _ = object.isEqual(object)
        }
        for format in [ArchiveFormat.binary, .compact] {
            guard let data = try? NSCodingArchiver.archivedData(withRootObject: object, format: format) else {
                continue
            }
            guard let unarchiver = try? NSCodingUnarchiver(forReadingFrom: data) else {
                fatalError("what was archived again as \(format) is no archive")
            }
            _ = unarchiver.decodeObject(of: classes, forKey: NSCodingArchiver.rootKey)
        }
    }

    private static func isCollection(_ object: NSObject) -> Bool {
        object is NSArray || object is NSDictionary || object is NSSet || object is NSOrderedSet
    }

    /// Opens an archive by key, in one of several ways.
    static func open(_ data: Data, way: Int) {
        guard let unarchiver = try? NSCodingUnarchiver(forReadingFrom: data, limits: limits) else { return }
        for key in unarchiver.keys.prefix(8) {
            switch way {
            case 0: show(unarchiver.decodeObject(of: classes, forKey: key))
            case 1: show(unarchiver.decodePropertyList(forKey: key))
            case 2: show(unarchiver.decodeArrayOfObjects(ofClass: FuzzNode.self, forKey: key).map { $0 as NSArray })
            default:
                show(
                    unarchiver.decodeDictionary(
                        withKeysOfClass: NSString.self, objectsOfClass: NSNumber.self, forKey: key
                    ).map { $0 as NSDictionary })
            }
            _ = unarchiver.decodeBool(forKey: key)
            _ = unarchiver.decodeInteger(forKey: key)
            _ = unarchiver.decodePoint(forKey: key)
            _ = unarchiver.error
        }
        unarchiver.finishDecoding()
    }

    /// Opens an archive in order.
    static func openSequential(_ data: Data) {
        guard
            let unarchiver = try? NSCodingSequentialUnarchiver(
                forReadingFrom: data, allowing: classes, limits: limits)
        else { return }
        while !unarchiver.isAtEnd, unarchiver.error == nil { show(unarchiver.decodeObject()) }
        guard let typed = try? NSCodingSequentialUnarchiver(forReadingFrom: data, allowing: classes, limits: limits)
        else {
            return
        }
        _ = FuzzRow(coder: typed)
    }
}

/// Called by libFuzzer with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFoundationDoor(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let data = Data(bytes: start, count: count)
    defer { FuzzNode.takeApart() }
    for way in 0..<4 { FuzzDoor.open(data, way: way) }
    FuzzDoor.openSequential(data)
    let object = try? NSCodingUnarchiver.unarchivedObject(
        ofClasses: FuzzDoor.classes, from: data, requiringSecureCoding: false, limits: FuzzDoor.limits)
    FuzzDoor.show(object)
    return 0
}

/// Suppresses Foundation's own leaks: the runs of every attributed string.
@_cdecl("__lsan_default_suppressions")
public func leaksOfFoundation() -> UnsafePointer<CChar> {
    let text: StaticString = "leak:CFRunArrayCreate\n"
    return UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}

private func networking() -> [NSObject] {
    let url = URL(fileURLWithPath: "/a")
    let fields = ["Content-Type": "text/plain; charset=utf-8", "Content-Disposition": "attachment; filename=\"a\""]
    return [
        URLRequest(url: url) as NSURLRequest, URLCredential(user: "u", password: "p", persistence: .forSession),
        URLResponse(url: url, mimeType: "a/b", expectedContentLength: 1, textEncodingName: nil),
        HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: fields) ?? NSNull(),
        NSDateInterval(start: Date(timeIntervalSinceReferenceDate: 0), duration: 1),
        NSDecimalNumberHandler(
            roundingMode: .up, scale: 2, raiseOnExactness: true, raiseOnOverflow: true, raiseOnUnderflow: true,
            raiseOnDivideByZero: true),
    ]
}

/// Writes seed archives into the directory that `FUZZ_SEEDS` names.
@_cdecl("LLVMFuzzerInitialize")
public func prepareSeeds(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>
) -> CInt {
    guard let directory = ProcessInfo.processInfo.environment["FUZZ_SEEDS"] else { return 0 }
    let text = NSMutableAttributedString(string: "two runs", attributes: [.init("a"): 1])
    text.addAttribute(.init("b"), value: NSNumber(value: 2.5), range: NSRange(location: 0, length: 3))
    var components = DateComponents()
    components.year = 2_001
    let values: [NSObject] =
        [
            "text" as NSString, NSMutableString(string: "m"), Data([1, 2]) as NSData, [1, "b", NSNull()] as NSArray,
            NSSet(array: [1, 2.5, true]), NSCountedSet(array: ["x", "x"]), NSOrderedSet(array: [3, 1]),
            ["k": [Date(timeIntervalSinceReferenceDate: 1)]] as NSDictionary, NSDecimalNumber(string: "-12.5"),
            UUID() as NSUUID, NSURL(string: "a", relativeTo: URL(string: "http://b/")) ?? NSURL(fileURLWithPath: "/"),
            NSIndexSet(indexesIn: NSRange(location: 3, length: 4)), NSIndexPath(indexes: [1, 2, 3], length: 3),
            NSError(domain: "d", code: -3, userInfo: ["i": "u"]), text,
            NSNotification(name: .init("n"), object: nil as Any?, userInfo: ["a": 1]),
            NSValue(range: NSRange(location: 1, length: 2)),
            NSValue(rect: NSRect(x: 1, y: 2, width: 3, height: 4)),
            TimeZone(secondsFromGMT: 3_600).map { $0 as NSTimeZone }
                ?? NSNull(),
            NSLocale(localeIdentifier: "de_CH"), Calendar(identifier: .gregorian) as NSCalendar,
            components as NSDateComponents, (try? NSRegularExpression(pattern: "a(b+)")) ?? NSNull(),
            CharacterSet(charactersIn: "abc") as NSCharacterSet, URLQueryItem(name: "n", value: "v") as NSURLQueryItem,
            NSAffineTransform(), NSMeasurement(doubleValue: 2, unit: UnitLength.meters), ISO8601DateFormatter(),
            ByteCountFormatter(), DateIntervalFormatter(), FuzzUnit(symbol: "f"), FuzzError(code: 3),
        ] + networking()
    let tree = FuzzNode("root", 7, [FuzzNode("left", 1, [], anything: text), FuzzNode("right", -1, [])])
    tree.bytes = Data([1, 2, 3])
    var seeds: [Data?] = [
        try? NSCodingArchiver.archivedData(withRootObject: tree),
        try? NSCodingArchiver.archivedData(withRootObject: tree, format: .compact),
        try? NSCodingArchiver.archivedData(withRootObject: FuzzRow()),
        try? NSCodingArchiver.archivedData(withRoots: ["a": FuzzRow(), "b": ["x": 1]]),
        try? NSCodingSequentialArchiver.archivedData(withRootObject: FuzzRow()),
        try? NSCodingSequentialArchiver.archivedData(withRootObject: values[3]),
    ]
    let sequential = NSCodingSequentialArchiver()
    FuzzRow().encode(with: sequential)
    seeds.append(try? sequential.data())
    for value in values { seeds.append(try? NSCodingArchiver.archivedData(withRootObject: value)) }
    for (index, seed) in seeds.enumerated() {
        guard let seed else { fatalError("seed \(index) cannot be archived") }
        try? seed.write(to: URL(fileURLWithPath: "\(directory)/seed\(index)"))
    }
    return 0
}
