/// What the JSON of a typedstream has to know of type strings.
///
/// They may be wrong: the typedstream that is made is checked when it is opened.
enum TypedStreamJSONType {
    /// Where the fields of a structure begin, behind its name.
    static func fields(in type: [UInt8], at start: Int) -> Int {
        let stops = [UInt8(ascii: "="), UInt8(ascii: "{"), UInt8(ascii: "}")]
        guard let stop = type[start...].firstIndex(where: stops.contains), type[stop] == stops[0] else { return start }
        return stop + 1
    }

    /// Where the encoding that begins there ends; the end of the type string if it does not.
    static func end(ofEncodingIn type: [UInt8], at start: Int) -> Int {
        var depth = 0
        var at = start
        while at < type.count {
            switch type[at] {
            case UInt8(ascii: "{"):
                depth += 1
                at = fields(in: type, at: at + 1)
                continue
            case UInt8(ascii: "["):
                depth += 1
                at = behindCount(in: type, at: at + 1)
                continue
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            at += 1
            if depth <= 0 { return at }
        }
        return type.count
    }

    private static func behindCount(in type: [UInt8], at start: Int) -> Int {
        var at = start
        while at < type.count, (0x30...0x39).contains(type[at]) { at += 1 }
        return at
    }

    /// Whether values of the encoding that begins there take no bytes.
    static func isNothing(_ type: [UInt8], at start: Int) -> Bool {
        let end = end(ofEncodingIn: type, at: start)
        var at = start
        while at < end {
            switch type[at] {
            case UInt8(ascii: "{"): at = fields(in: type, at: at + 1)
            case UInt8(ascii: "["):
                let element = behindCount(in: type, at: at + 1)
                let isEmpty = type[at + 1..<element].allSatisfy { $0 == UInt8(ascii: "0") }
                at = isEmpty ? self.end(ofEncodingIn: type, at: element) : element
            case UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: "!"): at += 1
            default: return false
            }
        }
        return true
    }

    /// The integers of a type; nil for other types.
    static func range(of encoding: UInt8) -> ClosedRange<Int128>? {
        func all<T: FixedWidthInteger>(_ type: T.Type) -> ClosedRange<Int128> { Int128(T.min)...Int128(T.max) }
        switch Character(UnicodeScalar(encoding)) {
        case "c": return all(Int8.self)
        case "C": return all(UInt8.self)
        case "s": return all(Int16.self)
        case "S": return all(UInt16.self)
        case "i", "l": return all(Int32.self)
        case "I", "L": return all(UInt32.self)
        case "q": return all(Int64.self)
        case "Q": return all(UInt64.self)
        default: return nil
        }
    }
}
