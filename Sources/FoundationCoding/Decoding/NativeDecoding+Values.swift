import Foundation
import KeyedArchive

extension NativeDecoding {
    static let values: [(AnyClass, Maker)] = [
        (NSNull.self, { _, _, _ in NSNull() }),
        (NSString.self, { unarchiver, record, _ in NSString(string: try string(unarchiver, record)) }),
        (NSMutableString.self, { unarchiver, record, _ in NSMutableString(string: try string(unarchiver, record)) }),
        (NSData.self, { unarchiver, record, _ in NSData(data: try data(unarchiver, record)) }),
        (NSMutableData.self, { unarchiver, record, _ in NSMutableData(data: try data(unarchiver, record)) }),
        (NSNumber.self, number),
        (NSDecimalNumber.self, decimal),
        (NSValue.self, value),
        (NSUUID.self, uuid),
        (NSURL.self, url),
        (NSError.self, error),
        (NSIndexPath.self, indexPath),
        (NSIndexSet.self, { unarchiver, _, _ in try indexSet(unarchiver, NSIndexSet.self) }),
        (NSMutableIndexSet.self, { unarchiver, _, _ in try indexSet(unarchiver, NSMutableIndexSet.self) }),
        (NSAffineTransform.self, transform),
        (NSNotification.self, notification),
    ]

    // MARK: Strings, data, numbers

    private static func string(_ unarchiver: NSCodingUnarchiver, _ record: ArchivedRecord) throws -> String {
        guard let stored = record.first(of: StoredForm.string) else {
            throw ArchiveError(.missingKey, "a string without NS.string")
        }
        // In place, the text `$null` is that text; a reference to it is nil.
        if case .null = stored { return "$null" }
        let value = unarchiver.resolved(stored)
        switch value {
        case .string(let text): return text
        case .brokenString(let units): return String(decoding: units, as: UTF16.self)
        case .data(let data): return String(decoding: data, as: UTF8.self)
        case .null: return ""
        default: throw ArchiveError(.typeMismatch, "expected a string, found \(Scalar.kind(value))")
        }
    }

    private static func data(_ unarchiver: NSCodingUnarchiver, _ record: ArchivedRecord) throws -> Data {
        guard let value = record.first(of: StoredForm.data) else {
            throw ArchiveError(.missingKey, "data without NS.data")
        }
        return try unarchiver.data(value) ?? Data()
    }

    @Sendable private static func number(
        _ unarchiver: NSCodingUnarchiver, _ record: ArchivedRecord, _ index: Int
    ) throws -> NSObject {
        guard let value = plainNumber(record).map(unarchiver.resolved) else {
            throw ArchiveError(.missingKey, "a number without its value")
        }
        _ = try Scalar.real(value)
        return try PlainObject(unarchiver).object(value, depth: 0)
    }

    @Sendable private static func decimal(
        _ unarchiver: NSCodingUnarchiver, _ record: ArchivedRecord, _ index: Int
    ) throws -> NSObject {
        guard let mantissa = record.first(of: StoredForm.decimalMantissa) else {
            guard let stored = record.first(of: StoredForm.decimalText),
                let text = try unarchiver.object(stored, of: [NSString.self]) as? NSString, text.length <= 1024
            else { throw ArchiveError(.corrupt, "a decimal number without its digits") }
            return NSDecimalNumber(string: text as String)
        }
        let isBigEndian = try unarchiver.whole("NS.mantissa.bo", in: 0...2) == 2
        let length = record["NS.length"] == nil ? nil : try unarchiver.whole("NS.length", in: 0...8)
        let parts = try DecimalParts(
            mantissa: try unarchiver.data(mantissa) ?? Data(), isBigEndian: isBigEndian, length: length,
            isNegative: unarchiver.decodeBool(forKey: "NS.negative"))
        let exponent = try unarchiver.whole("NS.exponent", in: -128...127)
        guard parts.length > 0 || !parts.isNegative else { return NSDecimalNumber.notANumber }
        guard let decimal = Decimal(string: "\(parts.digits)e\(exponent)") else {
            throw ArchiveError(.corrupt, "a decimal number out of range")
        }
        return NSDecimalNumber(decimal: decimal)
    }

    @Sendable private static func uuid(
        _ unarchiver: NSCodingUnarchiver, _ record: ArchivedRecord, _ index: Int
    ) throws -> NSObject {
        let bytes = try unarchiver.data(record.first(of: StoredForm.uuid) ?? .null) ?? Data()
        guard bytes.count == 16 else { throw ArchiveError(.corrupt, "a UUID of \(bytes.count) bytes") }
        let uuid = UUID(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
        return uuid as NSUUID
    }

    /// A C value: a range, a point or the like, or a scalar or array by its type string.
    @Sendable private static func value(
        _ unarchiver: NSCodingUnarchiver, _ record: ArchivedRecord, _ index: Int
    ) throws -> NSObject {
        if record["NS.special"] != nil {
            guard [1, 2, 3, 4, 12].contains(try unarchiver.whole("NS.special", in: 1...12)),
                let value = NSValue(coder: unarchiver)
            else { throw ArchiveError(.unsupported, "a value of a kind that is not known") }
            return value
        }
        let text = try unarchiver.text("NS.type", orNext: true, longest: 64)
        guard let type = TypeEncoding(text), type.isPlain else {
            throw ArchiveError(.unsupported, "a value of a type that is not known")
        }
        let memory = UnsafeMutableRawPointer.allocate(byteCount: max(type.size, 16), alignment: 16)
        defer { memory.deallocate() }
        unarchiver.decodeValue(ofObjCType: text, at: memory)
        if let failure = unarchiver.failure { throw failure }
        return NSValue(bytes: memory, objCType: text)
    }

    // MARK: Others

    @Sendable private static func url(
        _ unarchiver: NSCodingUnarchiver, _ record: ArchivedRecord, _ index: Int
    ) throws -> NSObject {
        let base = try unarchiver.object(NSURL.self, "NS.base")
        guard let text = try unarchiver.text("NS.relative") else { throw ArchiveError(.corrupt, "a URL without text") }
        guard let url = url(text, relativeTo: base) else {
            throw ArchiveError(.corrupt, "the text of a URL is not that of a URL")
        }
        return url
    }

    /// The URL with a text from an archive; nil if it is none.
    ///
    /// On Linux NSURL takes texts that URL does not, such as an empty one, and the conversion ends the program. So does
    /// each later one: as a base, in a request, and in the user's code.
    static func url(_ text: String, relativeTo base: NSURL?) -> NSURL? {
        guard let url = NSURL(string: text, relativeTo: base.map { $0 as URL }), URL(string: url.absoluteString) != nil
        else { return nil }
        return url
    }

    @Sendable private static func error(
        _ unarchiver: NSCodingUnarchiver, _ record: ArchivedRecord, _ index: Int
    ) throws -> NSObject {
        let domain = try unarchiver.text("NSDomain", orNext: false)
        let code = try unarchiver.whole("NSCode", in: .min ... .max)
        let classes: [AnyClass] = [
            NSDictionary.self, NSArray.self, NSSet.self, NSString.self, NSNumber.self, NSData.self, NSDate.self,
            NSURL.self, NSUUID.self, NSNull.self, NSError.self,
        ]
        let info =
            unarchiver.decodeObject(
                of: classes + (unarchiver.allowedClasses ?? []), forKey: "NSUserInfo") as? NSDictionary
        if let failure = unarchiver.failure { throw failure }
        var entries: [String: Any] = [:]
        for pair in info.map(RawElements.pairs) ?? [] {
            if let key = pair.key as? NSString { entries[key as String] = pair.value }
        }
        return NSError(domain: domain, code: code, userInfo: entries)
    }

    @Sendable private static func indexPath(
        _ unarchiver: NSCodingUnarchiver, _ record: ArchivedRecord, _ index: Int
    ) throws -> NSObject {
        let length = try unarchiver.whole("NSIndexPathLength", in: 0...(1 << 20))
        if length == 0 { return NSIndexPath() }
        if length == 1 {
            let only = try unarchiver.whole("NSIndexPathValue", in: 0...Int.max - 1)
            return [only].withUnsafeBufferPointer { NSIndexPath(indexes: $0.baseAddress, length: 1) }
        }
        let packed = PackedNumbers(try unarchiver.data(record["NSIndexPathData"] ?? .null) ?? Data())
        let indices = try packed.numbers(count: length)
        return indices.withUnsafeBufferPointer { NSIndexPath(indexes: $0.baseAddress, length: length) }
    }

    private static func indexSet(_ unarchiver: NSCodingUnarchiver, _ type: NSIndexSet.Type) throws -> NSObject {
        let count = try unarchiver.whole("NSRangeCount", in: 0...(1 << 24))
        var ranges: [Int] = []
        if count == 1 {
            ranges = [
                try unarchiver.whole("NSLocation", in: 0...Int.max - 1),
                try unarchiver.whole("NSLength", in: 0...Int.max - 1),
            ]
        } else if count > 1 {
            let data = try unarchiver.object(NSData.self, "NSRangeData").map(NativeEncoding.bytes) ?? Data()
            ranges = try PackedNumbers(data).numbers(count: 2 * count)
        }
        // The ranges must be in order and separate, which Foundation does not check.
        var end = -1
        for position in stride(from: 0, to: ranges.count, by: 2) {
            let (next, overflow) = ranges[position].addingReportingOverflow(ranges[position + 1])
            guard ranges[position] > end, !overflow, count == 1 || ranges[position + 1] > 0 else {
                throw ArchiveError(.corrupt, "an index set with ranges out of order or out of range")
            }
            end = next
        }
        guard let set = type.init(coder: unarchiver) else { throw ArchiveError(.corrupt, "not an index set") }
        return set
    }

    @Sendable private static func transform(
        _ unarchiver: NSCodingUnarchiver, _ record: ArchivedRecord, _ index: Int
    ) throws -> NSObject {
        var numbers = [CGFloat](repeating: 0, count: 6)
        if let bytes = try record["NSTransformDoubles"].flatMap({ try unarchiver.data($0) }), bytes.count == 48 {
            let bytes = Array(bytes)
            for number in 0..<6 {
                let bits = bytes[(8 * number)..<(8 * number + 8)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
                numbers[number] = CGFloat(Double(bitPattern: bits))
            }
        } else if let bytes = try record["NSTransformStruct"].flatMap({ try unarchiver.data($0) }) {
            guard bytes.count == 24 else { throw ArchiveError(.corrupt, "a transform of \(bytes.count) bytes") }
            let bytes = Array(bytes)
            for number in 0..<6 {
                let bits = bytes[(4 * number)..<(4 * number + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
                numbers[number] = CGFloat(Float(bitPattern: bits))
            }
        } else {
            var floats = [Float](repeating: 0, count: 6)
            floats.withUnsafeMutableBytes { bytes in
                if let start = bytes.baseAddress { unarchiver.decodeArray(ofObjCType: "f", count: 6, at: start) }
            }
            if let failure = unarchiver.failure { throw failure }
            numbers = floats.map { CGFloat($0) }
        }
        let transform = NSAffineTransform()
        transform.transformStruct = NSAffineTransformStruct(
            m11: numbers[0], m12: numbers[1], m21: numbers[2], m22: numbers[3], tX: numbers[4], tY: numbers[5])
        return transform
    }

    @Sendable private static func notification(
        _ unarchiver: NSCodingUnarchiver, _ record: ArchivedRecord, _ index: Int
    ) throws -> NSObject {
        let name = try unarchiver.text("NS.name", orNext: true)
        var object: Any?
        var info: NSDictionary?
        if record["NS.name"] != nil {
            object = unarchiver.decodeObject(forKey: "NS.object")
            info = unarchiver.decodeObject(forKey: "NS.userinfo") as? NSDictionary
        } else {
            object = unarchiver.decodeObject()
            info = unarchiver.decodeObject() as? NSDictionary
        }
        if let failure = unarchiver.failure { throw failure }
        return NSNotification(
            name: NSNotification.Name(rawValue: name), object: object, userInfo: info as? [AnyHashable: Any])
    }
}

extension TypeEncoding {
    /// Whether it is a scalar other than a pointer or an object, or an array of such scalars, as in an `NSValue`.
    var isPlain: Bool {
        switch self {
        case .scalar(let code): !"@#*".utf8.contains(code)
        case .array(let count, .scalar(let code)): count > 0 && !"@#*".utf8.contains(code)
        default: false
        }
    }
}
