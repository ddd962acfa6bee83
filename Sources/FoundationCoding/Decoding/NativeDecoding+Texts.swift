import Foundation
import KeyedArchive

extension NativeDecoding {
    static let texts: [(AnyClass, Maker)] = [
        (
            NSAttributedString.self,
            { unarchiver, record, index in
                NSAttributedString(attributedString: try attributed(unarchiver, record, index))
            }
        ),
        (NSMutableAttributedString.self, attributed),
        (NSRegularExpression.self, { unarchiver, _, _ in try expression(unarchiver) }),
        (NSTextCheckingResult.self, checkingResult),
        (NSCharacterSet.self, { unarchiver, _, _ in try characters(unarchiver, NSCharacterSet.self) }),
        (NSMutableCharacterSet.self, { unarchiver, _, _ in try characters(unarchiver, NSMutableCharacterSet.self) }),
        (
            NSURLQueryItem.self,
            { unarchiver, _, _ in
                let name = try unarchiver.text("NS.name", orNext: false)
                return NSURLQueryItem(name: name, value: try unarchiver.text("NS.value"))
            }
        ),
    ]

    // MARK: Attributed strings

    @Sendable private static func attributed(
        _ unarchiver: NSCodingUnarchiver, _ record: ArchivedRecord, _ index: Int
    ) throws -> NSMutableAttributedString {
        let text = try unarchiver.text("NSString") ?? ""
        let string = NSMutableAttributedString(string: text)
        let length = (text as NSString).length
        guard length > 0, let stored = record["NSAttributes"] else { return string }
        let classes: [AnyClass] = [
            NSDictionary.self, NSArray.self, NSString.self, NSNumber.self, NSURL.self, NSDate.self, NSData.self,
            NSNull.self, NSValue.self,
        ]
        let attributes = unarchiver.decodeObject(
            of: classes + (unarchiver.allowedClasses ?? []), forKey: "NSAttributes")
        if let failure = unarchiver.failure { throw failure }
        guard let info = try record["NSAttributeInfo"].flatMap({ try unarchiver.data($0) }) else {
            if let whole = attributes as? NSDictionary {
                // Foundation's archiver reads the attributes as Swift values, which never ends for a collection that
                // contains itself.
                let cost = unarchiver.cost(of: stored)
                try unarchiver.work.compare(cost)
                unarchiver.costs[index] = cost
                string.setAttributes(try keys(whole), range: NSRange(location: 0, length: length))
            }
            return string
        }
        guard let list = attributes as? NSArray else { throw ArchiveError(.corrupt, "runs without attributes") }
        let runs = try RawElements.list(list).map { try keys($0 as? NSDictionary) }
        let costs = try unarchiver.costs(ofArray: stored) ?? []
        var cost = ComparisonCost()
        var numbers = PackedNumbers(info)
        var location = 0
        while location < length {
            let (count, slot) = (try numbers.next(), try numbers.next())
            guard count > 0, count <= length - location, runs.indices.contains(slot) else {
                throw ArchiveError(.corrupt, "a run of attributes out of range")
            }
            let attributes = costs.indices.contains(slot) ? costs[slot] : .unknown
            try unarchiver.work.compare(attributes)
            cost.contain(attributes)
            string.setAttributes(runs[slot], range: NSRange(location: location, length: count))
            location += count
        }
        unarchiver.costs[index] = cost
        return string
    }

    private static func keys(_ attributes: NSDictionary?) throws -> [NSAttributedString.Key: Any] {
        var result: [NSAttributedString.Key: Any] = [:]
        for pair in attributes.map(RawElements.pairs) ?? [] {
            guard let key = pair.key as? NSString else {
                throw ArchiveError(.corrupt, "an attribute whose key is no string")
            }
            result[NSAttributedString.Key(key as String)] = pair.value
        }
        return result
    }

    // MARK: Expressions

    private static func expression(_ unarchiver: NSCodingUnarchiver) throws -> NSRegularExpression {
        let pattern = try unarchiver.text("NSPattern", orNext: false, longest: 1 << 16)
        let options = NSRegularExpression.Options(rawValue: UInt(try unarchiver.whole("NSOptions", in: 0...127)))
        return try NSRegularExpression(pattern: pattern, options: options)
    }

    @Sendable private static func checkingResult(
        _ unarchiver: NSCodingUnarchiver, _ record: ArchivedRecord, _ index: Int
    ) throws -> NSObject {
        guard let expression = try unarchiver.object(NSRegularExpression.self, "NSRegularExpression") else {
            throw ArchiveError(.missingKey, "a match without its expression")
        }
        let list = unarchiver.decodeObject(of: [NSArray.self, NSValue.self], forKey: "NSRangeArray")
        if let failure = unarchiver.failure { throw failure }
        var ranges: [NSRange] = []
        for element in (list as? NSArray).map(RawElements.list) ?? [] {
            guard let value = element as? NSValue, String(cString: value.objCType).hasPrefix("{_NSRange") else {
                throw ArchiveError(.typeMismatch, "expected a range")
            }
            ranges.append(value.rangeValue)
        }
        if ranges.isEmpty {
            ranges = [
                NSRange(
                    location: try unarchiver.whole("NSRangeLocation", in: 0...Int.max),
                    length: try unarchiver.whole("NSRangeLength", in: 0...Int.max))
            ]
        }
        return ranges.withUnsafeMutableBufferPointer { ranges -> NSTextCheckingResult in
            // `ranges` is not empty.
            NSTextCheckingResult.regularExpressionCheckingResult(
                ranges: ranges.baseAddress!, count: ranges.count, regularExpression: expression)
        }
    }

    // MARK: Characters

    private static func characters(_ unarchiver: NSCodingUnarchiver, _ type: NSCharacterSet.Type) throws -> NSObject {
        _ = try unarchiver.whole("NSBuiltinID", in: 0...15)
        _ = try unarchiver.whole("NSBuiltinID2", in: 0...15)
        if unarchiver.containsValue(forKey: "NSRange") {
            let packed = try unarchiver.whole("NSRange", in: .min ... .max)
            let (location, length) = (packed >> 32, packed & 0xFFFF_FFFF)
            guard location >= 0, location + length <= 0x110000 else {
                throw ArchiveError(.outOfRange, "a range of characters out of range")
            }
        }
        for key in ["NSBitmapObject", "NSBitmap"] {
            let bitmap = unarchiver.bytes(forKey: key)
            if let failure = unarchiver.failure { throw failure }
            guard let bitmap else { continue }
            // Foundation frees no set that it made of an empty bitmap: that traps.
            let set = bitmap.isEmpty ? CharacterSet() : CharacterSet(bitmapRepresentation: try checked(bitmap))
            return try made(set, unarchiver, type)
        }
        for key in ["NSStringObject", "NSString"] where unarchiver.containsValue(forKey: key) {
            return try made(CharacterSet(charactersIn: try unarchiver.text(key) ?? ""), unarchiver, type)
        }
        guard let set = type.init(coder: unarchiver) else { throw ArchiveError(.corrupt, "not a character set") }
        return set
    }

    private static func made(
        _ set: CharacterSet, _ unarchiver: NSCodingUnarchiver, _ type: NSCharacterSet.Type
    ) throws -> NSObject {
        let isInverted = unarchiver.decodeBool(forKey: "NSIsInverted")
        if let failure = unarchiver.failure { throw failure }
        let result = (isInverted ? set.inverted : set) as NSCharacterSet
        return type == NSMutableCharacterSet.self ? result.mutableCopy() as? NSObject ?? result : result
    }

    private static let planeSize = 8192

    /// Checks a bitmap: one plane of 8192 bytes, then further planes, each after its number.
    private static func checked(_ bitmap: Data) throws -> Data {
        guard
            bitmap.count == planeSize
                || (bitmap.count > planeSize && (bitmap.count - planeSize).isMultiple(of: planeSize + 1)
                    && bitmap.count <= 17 * (planeSize + 1))
        else { throw ArchiveError(.corrupt, "a bitmap of characters of \(bitmap.count) bytes") }
        return bitmap
    }
}
