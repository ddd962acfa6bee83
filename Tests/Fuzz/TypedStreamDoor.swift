// Feeds the unarchiver of typedstreams for NSCoding classes bytes from libFuzzer. Classes of the file that are not
// Foundation's are decoded carelessly. Nothing may trap, hang or take memory without bound. What opens is archived again, and
// that archive must open.

import Foundation
import FoundationCoding
import KeyedArchive

/// Decodes what comes next, and then what does not.
final class FuzzGreedy: NSObject, NSCoding {
    private var values: [(types: String, values: [CodedValue])] = []

    /// All instances that were decoded.
    ///
    /// An archive may give them cycles, which nothing else breaks.
    nonisolated(unsafe) private static var made: [FuzzGreedy] = []
    private var back: FuzzGreedy?

    static func takeApart() {
        for object in made {
            object.values = []
            object.back = nil
        }
        made = []
    }

    init?(coder: NSCoder) {
        super.init()
        guard let coder = coder as? NSCodingTypedStreamUnarchiver else { return nil }
        Self.made.append(self)
        while let types = coder.nextTypes {
            _ = coder.version(forClassName: "NSString")
            if types == "@" {
                // Not weak, whose bookkeeping the leak detector reports; `takeApart` breaks the cycles.
                coder.decodeReference(of: FuzzGreedy.self) { [self] in back = $0 }
            } else if types == "i" {
                var number: Int32 = 0
                coder.decodeValue(ofObjCType: "i", at: &number)
            } else if types.hasPrefix("["), let end = types.firstIndex(of: "c") {
                var bytes = [UInt8](repeating: 0, count: min(1 << 16, Int(types.dropFirst()[..<end]) ?? 0))
                coder.decodeArray(ofObjCType: "c", count: bytes.count, at: &bytes)
            } else if let found = coder.decodeValues(types) {
                values.append((types, found))
            }
        }
        if values.count == 3 { _ = coder.decodeStoredRect() }
        if values.count == 4 { _ = coder.decodePropertyList() }
    }

    func encode(with coder: NSCoder) {
        guard let coder = coder as? NSCodingTypedStreamArchiver else { return }
        for group in values { coder.encodeValues(group.types, group.values) }
        coder.encodeConditionalObject(back)
    }
}

enum FuzzDoor {
    static let classes: [AnyClass] = [
        NSSet.self, NSURL.self, NSValue.self, NSTimeZone.self, NSDecimalNumber.self, NSAttributedString.self,
        NSNull.self,
        FuzzGreedy.self,
    ]

    static let limits: ArchiveLimits = {
        var limits = ArchiveLimits()
        limits.bytes = 8 << 20
        limits.objects = 1 << 16
        limits.chain = 300
        return limits
    }()

    static func open(_ data: Data, _ allowed: [AnyClass]?, wide: Bool) {
        guard
            let unarchiver = try? NSCodingTypedStreamUnarchiver(forReadingFrom: data, allowing: allowed, limits: limits)
        else { return }
        unarchiver.accepts32BitTypes = wide
        for case .type(let type) in unarchiver.graph.labels where !type.name.description.hasPrefix("NS") {
            unarchiver.setClass(FuzzGreedy.self, forClassName: type.name.description)
        }
        var roots: [Any?] = []
        while let types = unarchiver.nextTypes {
            if types == "@" { roots.append(unarchiver.decodeObject()) } else { _ = unarchiver.decodeValues(types) }
        }
        for root in roots { show(root, unarchiver) }
    }

    /// Archives an object again, with and without the archive that it is from.
    private static func show(_ object: Any?, _ unarchiver: NSCodingTypedStreamUnarchiver) {
        guard let object = object as? NSObject else { return }
        for archiver in [
            NSCodingTypedStreamArchiver(rewriting: unarchiver), NSCodingTypedStreamArchiver(isBigEndian: true),
        ] {
            archiver.encodeRootObject(object)
            guard let data = try? archiver.data() else { continue }
            guard (try? TypedStreamGraph(data)) != nil else { fatalError("what was archived again is no archive") }
            _ = try? NSCodingTypedStreamUnarchiver.unarchivedObject(ofClasses: classes, from: data, limits: limits)
        }
    }
}

/// Called by libFuzzer with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzTypedStreamDoor(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let data = Data(bytes: start, count: count)
    defer { FuzzGreedy.takeApart() }
    FuzzDoor.open(data, FuzzDoor.classes, wide: true)
    FuzzDoor.open(data, [], wide: false)
    return 0
}

/// Suppresses Foundation's own leaks: the runs of every attributed string, and the types of points and the like.
@_cdecl("__lsan_default_suppressions")
public func leaksOfFoundation() -> UnsafePointer<CChar> {
    let text: StaticString = "leak:CFRunArrayCreate\nleak:NSSpecialValueC8objCType\n"
    return UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
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
    let values: [NSObject] = [
        "text" as NSString, NSMutableString(string: "m"), Data([1, 2]) as NSData, [1, "b", NSNull()] as NSArray,
        NSSet(array: [1, 2.5, true]), ["k": [Date(timeIntervalSinceReferenceDate: 1)]] as NSDictionary,
        NSDecimalNumber(string: "-12.5"), NSURL(string: "a", relativeTo: URL(string: "http://b/")) ?? NSNull(), text,
        NSValue(range: NSRange(location: 1, length: 2)), NSValue(rect: NSRect(x: 1, y: 2, width: 3, height: 4)),
        TimeZone(secondsFromGMT: 0).map { $0 as NSTimeZone } ?? NSNull(),
        CodedStructure(type: "{a=i[2s]@}", value: .list([1, .list([2, 3]), .object("x")])),
    ]
    var seeds = values.map { try? NSCodingTypedStreamArchiver.archivedData(withRootObject: $0) }
    seeds.append(try? NSCodingTypedStreamArchiver.archivedData(withRootObject: values as NSArray))
    for (index, seed) in (seeds + TypedStreamBytes.good.map { Data($0.bytes) }).enumerated() {
        guard let seed else { fatalError("seed \(index) cannot be archived") }
        try? seed.write(to: URL(fileURLWithPath: "\(directory)/seed\(index)"))
    }
    return 0
}
