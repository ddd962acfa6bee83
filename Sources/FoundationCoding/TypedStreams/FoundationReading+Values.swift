import Foundation
import KeyedArchive

extension FoundationReading {
    // MARK: Numbers and C values

    /// The type string of an `NSValue`, a C string.
    private static func valueType(_ unarchiver: NSCodingTypedStreamUnarchiver) throws -> String {
        guard let text = unarchiver.cString(try unarchiver.next("*").value) else {
            throw ArchiveError(.corrupt, "a value without a type")
        }
        guard let type = text.string else { throw ArchiveError(.unsupported, "a value whose type is not UTF-8") }
        unarchiver.endValue()
        return type
    }

    static func number(_ unarchiver: NSCodingTypedStreamUnarchiver) throws -> NSObject {
        let type = try valueType(unarchiver)
        let (code, value) = try unarchiver.next("cCsSiIlLqQfdB")
        guard type.utf8.elementsEqual([code]) else {
            throw ArchiveError(
                .typeMismatch, "expected “\(type)”, which the number says it is, found “\(UnicodeScalar(code))”")
        }
        unarchiver.endValue()
        return number(code, value)
    }

    private static func number(_ code: UInt8, _ value: TypedStreamValue) -> NSNumber {
        switch value {
        case .bool(let value): NSNumber(value: value)
        case .float(let bits): NSNumber(value: Float(bitPattern: bits))
        case .double(let bits): NSNumber(value: Double(bitPattern: bits))
        case .unsigned(let value): NSNumber(value: value)
        case .integer(let value):
            switch Character(UnicodeScalar(code)) {
            case "c": NSNumber(value: Int8(truncatingIfNeeded: value))
            case "C": NSNumber(value: UInt8(truncatingIfNeeded: value))
            case "s": NSNumber(value: Int16(truncatingIfNeeded: value))
            case "S": NSNumber(value: UInt16(truncatingIfNeeded: value))
            case "i", "l": NSNumber(value: Int32(truncatingIfNeeded: value))
            case "I", "L": NSNumber(value: UInt32(truncatingIfNeeded: value))
            case "Q": NSNumber(value: UInt64(truncatingIfNeeded: value))
            default: NSNumber(value: value)
            }
        default: NSNumber(value: 0)
        }
    }

    /// The most bytes of a value in memory.
    private static let largestValue = 1 << 16

    /// A point, size, rectangle, range or scalar, or a structure of another type.
    static func value(_ unarchiver: NSCodingTypedStreamUnarchiver) throws -> NSObject {
        let text = try valueType(unarchiver)
        guard let type = TypeEncoding(text, .typedStreamValues), type.size <= largestValue else {
            throw ArchiveError(.unsupported, "a value of a type that is not known, or too large")
        }
        let value = try unarchiver.codedValue(type)
        if case .scalar(let code) = type, case .integer(let number) = value, !"!".utf8.contains(code) {
            return Self.number(code, .integer(number))
        }
        if case .scalar = type { return scalar(value) ?? CodedStructure(type: text, value: value) }
        return Geometry(type)?.value(value) ?? CodedStructure(type: text, value: value)
    }

    private static func scalar(_ value: CodedValue) -> NSObject? {
        switch value {
        case .unsigned(let value): NSNumber(value: value)
        case .bool(let value): NSNumber(value: value)
        case .float(let value): NSNumber(value: value)
        case .double(let value): NSNumber(value: value)
        default: nil
        }
    }

    // MARK: Decimal numbers

    /// The exponent, the count of words, whether it is negative, whether it is compact, and eight words of digits.
    @Sendable static func decimal(
        _ unarchiver: NSCodingTypedStreamUnarchiver, _ label: Int, _ ancestry: ArchivedAncestry
    ) throws -> NSObject {
        guard
            case .integer(let exponent) = try unarchiver.codedValue(.scalar(UInt8(ascii: "i"))),
            case .integer(let length) = try unarchiver.codedValue(.scalar(UInt8(ascii: "S"))),
            case .integer(let isNegative) = try unarchiver.codedValue(.scalar(UInt8(ascii: "C"))),
            case .integer = try unarchiver.codedValue(.scalar(UInt8(ascii: "C"))),
            case .integer(let count) = try unarchiver.codedValue(.scalar(UInt8(ascii: "I"))),
            count == 8, length <= count, (-128...127).contains(exponent),
            case .list(let words) = try unarchiver.codedValue(.array(8, .scalar(UInt8(ascii: "S"))))
        else { throw ArchiveError(.corrupt, "a decimal number out of range") }
        if length == 0, isNegative != 0 { return NSDecimalNumber.notANumber }
        var digits: UInt128 = 0
        for (position, word) in words.prefix(Int(length)).enumerated() {
            if case .integer(let word) = word { digits |= UInt128(word) << UInt128(16 * position) }
        }
        guard let decimal = Decimal(string: "\(isNegative == 0 ? "" : "-")\(digits)e\(exponent)") else {
            throw ArchiveError(.corrupt, "a decimal number out of range")
        }
        return NSDecimalNumber(decimal: decimal)
    }

    // MARK: Times

    /// A date; that of a calendar has a format and a time zone, too.
    @Sendable static func date(
        _ unarchiver: NSCodingTypedStreamUnarchiver, _ label: Int, _ ancestry: ArchivedAncestry
    ) throws -> NSObject {
        guard case .double(let bits) = try unarchiver.next("d").value else {
            throw ArchiveError(.corrupt, "a date without a time")
        }
        unarchiver.endValue()
        if ancestry.name == "NSCalendarDate" {
            try unarchiver.allowing([NSString.self, NSTimeZone.self, NSData.self]) {
                _ = try unarchiver.nextElement()
                _ = try unarchiver.nextElement()
            }
        }
        return NSDate(timeIntervalSinceReferenceDate: Double(bitPattern: bits))
    }

    static func timeZone(_ unarchiver: NSCodingTypedStreamUnarchiver) throws -> NSObject {
        let (name, _) = try unarchiver.allowing([NSString.self, NSData.self]) {
            (try unarchiver.nextElement(), try unarchiver.nextElement())
        }
        guard let name = name as? NSString else { throw ArchiveError(.typeMismatch, "a time zone without a name") }
        guard let zone = NativeDecoding.timeZone(named: name as String) else {
            throw ArchiveError(.corrupt, "a time zone that is not known here")
        }
        return zone
    }

    // MARK: URLs

    static func url(_ unarchiver: NSCodingTypedStreamUnarchiver) throws -> NSObject {
        guard case .integer(let kind) = try unarchiver.next("c").value else {
            throw ArchiveError(.corrupt, "a URL without a kind")
        }
        guard kind == 0 || kind == 1 else {
            throw ArchiveError(.corrupt, "expected a URL of kind 0 or 1, found \(kind)")
        }
        unarchiver.endValue()
        let (base, text) = try unarchiver.allowing([NSURL.self, NSString.self]) {
            (kind == 1 ? try unarchiver.nextElement() : nil, try unarchiver.nextElement())
        }
        guard let text = text as? NSString, kind == 0 || base is NSURL else {
            throw ArchiveError(.typeMismatch, "a URL without text or base")
        }
        // Apple's NSURL had no objection to what is not ASCII.
        let plain = (text as String).utf8.reduce(into: "") { result, byte in
            result += byte < 0x80 ? String(UnicodeScalar(byte)) : "%" + String(byte, radix: 16, uppercase: true)
        }
        guard let url = NativeDecoding.url(plain, relativeTo: base as? NSURL) else {
            throw ArchiveError(.corrupt, "the text of a URL is not that of a URL")
        }
        return url
    }

    // MARK: Attributed strings

    /// Classes of attributes that need not be listed.
    private static let attributeClasses: [AnyClass] = [
        NSAttributedString.self, NSDictionary.self, NSArray.self, NSString.self, NSNumber.self, NSURL.self, NSDate.self,
        NSData.self, NSNull.self, NSValue.self,
    ]

    /// The text, and for each run the number of its attributes from 1, its length and, for a new number, the attributes.
    static func attributed(_ unarchiver: NSCodingTypedStreamUnarchiver) throws -> NSMutableAttributedString {
        try unarchiver.allowing(attributeClasses) {
            guard let text = try unarchiver.nextElement() as? NSString else {
                throw ArchiveError(.typeMismatch, "an attributed string without text")
            }
            let string = NSMutableAttributedString(string: text as String)
            let length = string.length
            var location = 0
            var known: [(attributes: [NSAttributedString.Key: Any], cost: ComparisonCost)] = []
            while location < length {
                guard case .integer(let number) = try unarchiver.next("i").value,
                    case .integer(let count) = try unarchiver.next("I").value,
                    number >= 1, number <= known.count + 1, count >= 1, count <= length - location
                else { throw ArchiveError(.corrupt, "a run of attributes out of range") }
                unarchiver.endValue()
                unarchiver.endValue()
                if number > known.count { known.append((try attributes(unarchiver), unarchiver.lastCost)) }
                let (attributes, cost) = known[Int(number) - 1]
                try unarchiver.work.compare(cost)
                unarchiver.frames[unarchiver.frames.count - 1].cost.contain(cost)
                string.setAttributes(attributes, range: NSRange(location: location, length: Int(count)))
                location += Int(count)
            }
            return string
        }
    }

    private static func attributes(
        _ unarchiver: NSCodingTypedStreamUnarchiver
    ) throws -> [NSAttributedString.Key: Any] {
        guard let object = try unarchiver.nextShallowElement("attributes") else { return [:] }
        guard let attributes = object as? NSDictionary else {
            throw ArchiveError(.typeMismatch, "expected a dictionary of attributes")
        }
        var result: [NSAttributedString.Key: Any] = [:]
        let last = unarchiver.lastEntries
        let entries =
            last?.dictionary === attributes
            ? last?.entries ?? [] : RawElements.pairs(attributes).map { ($0.key, $0.value) }
        for (key, value) in entries {
            guard let key = key as? NSString else {
                throw ArchiveError(.corrupt, "an attribute whose key is no string")
            }
            result[NSAttributedString.Key(key as String)] = value
        }
        return result
    }
}

/// The structures that Foundation has an `NSValue` for, by their fields; older archivers leave the names out.
enum Geometry {
    case point
    case size
    case rectangle
    case range

    /// The structure of a type, in the form of 32-bit or of 64-bit programs; nil for others.
    ///
    /// Two reals without a name are taken for a point: for a size Foundation has the same memory.
    init?(_ type: TypeEncoding) {
        guard case .structure(let known, let fields) = type else { return nil }
        let name = known ?? "?"
        if Self.areReals(fields), name.hasSuffix("Point") || name == "?" {
            self = .point
        } else if Self.areReals(fields), name.hasSuffix("Size") {
            self = .size
        } else if fields.count == 2, fields[0] == fields[1], name.hasSuffix("Range"),
            "IQ".unicodeScalars.contains(where: { fields[0] == .scalar(UInt8($0.value)) })
        {
            self = .range
        } else if name.hasSuffix("Rect") || name == "?", fields.count == 2, case .structure(_, let origin) = fields[0],
            case .structure(_, let size) = fields[1], Self.areReals(origin), Self.areReals(size)
        {
            self = .rectangle
        } else {
            return nil
        }
    }

    private static func areReals(_ fields: [TypeEncoding]) -> Bool {
        fields == [.scalar(UInt8(ascii: "f")), .scalar(UInt8(ascii: "f"))]
            || fields == [.scalar(UInt8(ascii: "d")), .scalar(UInt8(ascii: "d"))]
    }

    /// The object for the fields of such a structure; nil for a range that does not fit.
    func value(_ fields: CodedValue) -> NSValue? {
        switch self {
        case .point:
            let numbers = Self.reals(fields)
            return NSValue(point: NSPoint(x: numbers[0], y: numbers[1]))
        case .size:
            let numbers = Self.reals(fields)
            return NSValue(size: NSSize(width: numbers[0], height: numbers[1]))
        case .rectangle:
            let numbers = Self.reals(fields)
            return NSValue(rect: NSRect(x: numbers[0], y: numbers[1], width: numbers[2], height: numbers[3]))
        case .range:
            guard case .list(let fields) = fields, case .integer(let location) = fields[0],
                case .integer(let length) = fields[1]
            else { return nil }
            return NSValue(range: NSRange(location: Int(location), length: Int(length)))
        }
    }

    private static func reals(_ value: CodedValue) -> [Double] {
        switch value {
        case .float(let value): [Double(value)]
        case .double(let value): [value]
        case .list(let values): values.flatMap { reals($0) }
        default: []
        }
    }
}
