import Foundation
import KeyedArchive

/// Foundation classes that the archiver encodes itself.
///
/// Their own `encode(with:)` needs Foundation's archiver or loses information.
enum NativeEncoding {
    typealias Body = @Sendable (NSCodingArchiver, NSObject) throws -> Void

    /// The plain value of a string, number or data; nil for anything else.
    static func plainValue(of object: NSObject) -> ArchivedValue? {
        switch object {
        case let number as NSNumber: return number is NSDecimalNumber ? nil : value(of: number)
        case let string as NSString:
            let text = string as String
            // The text "$null" means nil in the format.
            return string.classForCoder == NSString.self && text != "$null" ? .string(text) : nil
        case let data as NSData: return data.classForCoder == NSData.self ? .data(bytes(of: data)) : nil
        default: return nil
        }
    }

    /// The function that encodes instances of a class; nil if they encode themselves.
    static func body(of type: AnyClass) -> Body? { bodies[ObjectIdentifier(type)] }

    private static let bodies: [ObjectIdentifier: Body] = [
        ObjectIdentifier(NSString.self): encodeNullText,
        ObjectIdentifier(NSMutableString.self): { archiver, object in
            archiver.set(.string((object as? NSString) as String? ?? ""), forKey: "NS.string")
        },
        ObjectIdentifier(NSMutableData.self): { archiver, object in
            archiver.set(.data((object as? NSData).map(bytes) ?? Data()), forKey: "NS.data")
        },
        ObjectIdentifier(NSArray.self): encodeList,
        ObjectIdentifier(NSMutableArray.self): encodeList,
        ObjectIdentifier(NSSet.self): encodeList,
        ObjectIdentifier(NSMutableSet.self): encodeList,
        ObjectIdentifier(NSOrderedSet.self): encodeOrderedSet,
        ObjectIdentifier(NSMutableOrderedSet.self): encodeOrderedSet,
        ObjectIdentifier(NSCountedSet.self): encodeCountedSet,
        ObjectIdentifier(NSDictionary.self): encodeDictionary,
        ObjectIdentifier(NSMutableDictionary.self): encodeDictionary,
        ObjectIdentifier(NSNumber.self): encodeDecimal,
        ObjectIdentifier(NSDecimalNumber.self): encodeDecimal,
        ObjectIdentifier(NSError.self): encodeError,
        ObjectIdentifier(NSAffineTransform.self): encodeTransform,
        ObjectIdentifier(NSDate.self): { archiver, object in
            let time = (object as? NSDate)?.timeIntervalSinceReferenceDate ?? 0
            archiver.set(.double(bits: time.bitPattern), forKey: "NS.time")
        },
    ]

    /// A number with its kind: Booleans, integers, and reals of 4 and 8 bytes are distinct.
    static func value(of number: NSNumber) -> ArchivedValue {
        if type(of: number) == truthType { return .bool(number.boolValue) }
        return switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "f"): .float(bits: number.floatValue.bitPattern)
        case UInt8(ascii: "d"): .double(bits: number.doubleValue.bitPattern)
        case UInt8(ascii: "Q"): .whole(Int128(number.uint64Value))
        default: .integer(number.int64Value)
        }
    }

    /// Booleans have their own class, but the type string of 8-bit integers.
    private static let truthType: NSNumber.Type = type(of: NSNumber(value: true))

    /// A copy of an object's bytes: they may change before they are written.
    static func bytes(of data: NSData) -> Data { Data(bytes: data.bytes, count: data.length) }

    private static let encodeNullText: Body = { archiver, object in
        let text = (object as? NSString) as String? ?? ""
        archiver.set(.data(Data(text.utf8)), forKey: "NS.bytes")
    }

    // MARK: Collections

    private static let encodeList: Body = { archiver, object in
        archiver.set(.list(try RawElements.list(object).map { try archiver.value(of: $0) }), forKey: "NS.objects")
    }

    private static let encodeOrderedSet: Body = { archiver, object in
        for (position, element) in RawElements.list(object).enumerated() {
            archiver.set(try archiver.value(of: element), forKey: "NS.object.\(position)")
        }
    }

    private static let encodeCountedSet: Body = { archiver, object in
        let elements = RawElements.list(object)
        archiver.set(.integer(Int64(elements.count)), forKey: "NS.count")
        for (position, element) in elements.enumerated() {
            let count = (object as? NSCountedSet)?.count(for: element) ?? 1
            archiver.set(try archiver.value(of: element), forKey: "NS.object\(position)")
            archiver.set(.integer(Int64(count)), forKey: "NS.count\(position)")
        }
    }

    private static let encodeDictionary: Body = { archiver, object in
        let pairs = RawElements.pairs(object)
        archiver.set(.list(try pairs.map { try archiver.value(of: $0.key) }), forKey: "NS.keys")
        archiver.set(.list(try pairs.map { try archiver.value(of: $0.value) }), forKey: "NS.objects")
    }

    // MARK: Others

    private static let encodeDecimal: Body = { archiver, object in
        guard let number = object as? NSDecimalNumber else { return }
        let decimal = number.decimalValue
        // The digits without sign and exponent: 38 of them fit 128 bits.
        let digits = (decimal.isSignMinus ? "-" : "") + decimal.significand.description.filter(\.isNumber)
        let parts = try DecimalParts(digits: decimal.isNaN ? "NaN" : digits)
        let exponent = Int64(decimal.isNaN ? 0 : decimal.exponent)
        for (key, value) in StoredForm.decimal(parts, exponent: exponent) { archiver.set(value, forKey: key) }
    }

    /// Writes the forms of Foundation on Linux and of Apple's, both with the precision of a `Float`, and an exact one.
    private static let encodeTransform: Body = { archiver, object in
        guard let transform = object as? NSAffineTransform else { return }
        let matrix = transform.transformStruct
        let numbers = [matrix.m11, matrix.m12, matrix.m21, matrix.m22, matrix.tX, matrix.tY].map { Double($0) }
        let floats = numbers.map { Float($0) }
        floats.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress { archiver.encodeArray(ofObjCType: "f", count: 6, at: start) }
        }
        func bytes<T: FixedWidthInteger>(_ value: T) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }
        archiver.set(.data(Data(floats.flatMap { bytes($0.bitPattern) })), forKey: "NSTransformStruct")
        archiver.set(.data(Data(numbers.flatMap { bytes($0.bitPattern) })), forKey: "NSTransformDoubles")
    }

    private static let encodeError: Body = { archiver, object in
        guard let error = object as? NSError else { return }
        archiver.encode(error.code, forKey: "NSCode")
        archiver.encode(error.domain, forKey: "NSDomain")
        let info = error.userInfo
        archiver.encode(info.isEmpty ? nil : info as NSDictionary, forKey: "NSUserInfo")
    }
}

extension NSCodingArchiver {
    /// Sets a value of the object being encoded.
    func set(_ value: ArchivedValue, forKey key: String) { frames[frames.count - 1].set(value, forKey: key) }
}
