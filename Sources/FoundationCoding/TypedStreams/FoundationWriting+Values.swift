import Foundation
import KeyedArchive

extension FoundationWriting {
    // MARK: Numbers and C values

    /// Writes the type string of a value, and begins its group.
    private static func begin(_ archiver: NSCodingTypedStreamArchiver, _ type: String) {
        archiver.group("*")
        archiver.write(cString: Array(type.utf8))
        archiver.group(type)
    }

    /// The type is the one that Foundation tells; it says `i` for several narrower ones.
    static let number: Body = { archiver, object in
        guard let number = object as? NSNumber else { return }
        if Swift.type(of: number) == truthType {
            begin(archiver, "c")
            return archiver.byte(number.boolValue ? 1 : 0)
        }
        let type = String(cString: number.objCType)
        switch type {
        case "f":
            begin(archiver, type)
            archiver.float(number.floatValue.bitPattern)
        case "d":
            begin(archiver, type)
            archiver.double(number.doubleValue.bitPattern)
        case "Q":
            begin(archiver, type)
            archiver.integer(Int64(bitPattern: number.uint64Value), UInt8(ascii: "Q"))
        default:
            let isNarrow = ["c", "C", "s", "S", "i"].contains(type) && Int32(exactly: number.int64Value) != nil
            let type = isNarrow ? type : "q"
            begin(archiver, type)
            archiver.integer(number.int64Value, type.utf8.first ?? 0)
        }
    }

    /// Booleans have their own class, but the type string of 8-bit integers.
    private static let truthType: NSNumber.Type = Swift.type(of: NSNumber(value: true))

    static let value: Body = { archiver, object in
        guard let value = object as? NSValue else { return }
        let type = String(cString: value.objCType)
        guard let encoding = TypeEncoding(type, .typedStream) else { throw TypeEncoding.unknown(type) }
        if case .structure(let known, _) = encoding, let name = known {
            if name.hasSuffix("Range") {
                begin(archiver, "{_NSRange=QQ}")
                archiver.integer(Int64(value.rangeValue.location), UInt8(ascii: "Q"))
                return archiver.integer(Int64(value.rangeValue.length), UInt8(ascii: "Q"))
            }
            if name.hasSuffix("Point") {
                return reals(archiver, "{CGPoint=dd}", [value.pointValue.x, value.pointValue.y])
            }
            if name.hasSuffix("Size") {
                return reals(archiver, "{CGSize=dd}", [value.sizeValue.width, value.sizeValue.height])
            }
            if name.hasSuffix("Rect") {
                let rect = value.rectValue
                return reals(
                    archiver, "{CGRect={CGPoint=dd}{CGSize=dd}}",
                    [rect.origin.x, rect.origin.y, rect.size.width, rect.size.height])
            }
        }
        guard encoding.isPlain else {
            throw ArchiveError(.unsupported, "a value of the type “\(type)”")
        }
        let memory = UnsafeMutableRawPointer.allocate(byteCount: max(encoding.size, 16), alignment: 16)
        defer { memory.deallocate() }
        value.getValue(memory)
        begin(archiver, type)
        try archiver.write(encoding, at: memory)
    }

    private static func reals(_ archiver: NSCodingTypedStreamArchiver, _ type: String, _ numbers: [CGFloat]) {
        archiver.group("*")
        archiver.write(cString: Array(type.utf8))
        archiver.writeReals(type, numbers)
    }

    static let structure: Body = { archiver, object in
        guard let structure = object as? CodedStructure else { return }
        guard let type = TypeEncoding(structure.type, .typedStreamValues) else {
            throw TypeEncoding.unknown(structure.type)
        }
        begin(archiver, structure.type)
        try archiver.write(structure.value, type)
    }

    static let decimal: Body = { archiver, object in
        guard let number = object as? NSDecimalNumber else { return }
        let decimal = number.decimalValue
        // The digits without sign and exponent: 38 of them fit 128 bits.
        let digits = decimal.isNaN ? 0 : UInt128(decimal.significand.description.filter(\.isNumber)) ?? 0
        let words = (0..<8).map { UInt16(truncatingIfNeeded: digits >> (16 * $0)) }
        let length = decimal.isNaN ? 0 : (words.lastIndex { $0 != 0 } ?? -1) + 1
        let scalars: [(String, Int)] = [
            ("i", decimal.isNaN ? 0 : decimal.exponent), ("S", length),
            ("C", decimal.isNaN || decimal.isSignMinus ? 1 : 0), ("C", 1), ("I", words.count),
        ]
        for (type, value) in scalars {
            archiver.group(type)
            archiver.integer(Int64(value), type.utf8.first ?? 0)
        }
        archiver.group("[8S]")
        for word in words { archiver.integer(Int64(word), UInt8(ascii: "S")) }
    }

    // MARK: Time zones and URLs

    static let timeZone: Body = { archiver, object in
        guard let zone = object as? NSTimeZone else { return }
        try archiver.writeElement(zone.name)
        try archiver.writeElement(NSData(data: zone.data))
    }

    static let url: Body = { archiver, object in
        guard let url = object as? NSURL else { return }
        archiver.group("c")
        archiver.byte(url.baseURL == nil ? 0 : 1)
        archiver.endValue()
        if let base = url.baseURL { try archiver.writeElement(base as NSURL) }
        try archiver.writeElement(url.relativeString)
    }
}
