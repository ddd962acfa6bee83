/// The characters of a text that XML 1.0 cannot contain, not even as an entity.
///
/// These are most control characters, U+FFFE, U+FFFF and unpaired surrogates. The text has U+FFFD in their place, and an
/// attribute has the UTF-16 units for which each U+FFFD of the text stands, in order and in hexadecimal:
///
///     <string replaced="1b,fffd">&#xFFFD;[0m &#xFFFD;</string>
///
/// So any parser opens the file. One that ignores the attribute gets the text with these characters replaced.
enum XMLReplacements {
    static let attribute = "replaced"

    /// What stands in the text.
    static let stand: UInt16 = 0xFFFD

    /// Whether ASCII has such a character.
    static func areNeeded(inASCII bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.contains { $0 < 0x20 && isControl(UInt16($0)) }
    }

    /// Whether UTF-16 has such a unit.
    static func areNeeded(in units: [UInt16]) -> Bool { units.indices.contains { isReplaced(units, $0) } }

    private static func isControl(_ unit: UInt16) -> Bool {
        unit < 0x20 && unit != 0x09 && unit != 0x0A && unit != 0x0D
    }

    /// Whether the unit at a place has to be replaced.
    static func isReplaced(_ units: [UInt16], _ at: Int) -> Bool {
        let unit = units[at]
        switch unit & 0xFC00 {
        case 0xD800: return at + 1 == units.count || units[at + 1] & 0xFC00 != 0xDC00
        case 0xDC00: return at == 0 || units[at - 1] & 0xFC00 != 0xD800
        default: return isControl(unit) || unit >= 0xFFFE
        }
    }

    /// Puts the units that an attribute lists into a text; false if there are not as many as places for them.
    static func restore(_ units: inout [UInt16], _ list: String) -> Bool {
        var rest = list.utf8[...]
        for index in units.indices where units[index] == stand {
            guard let unit = next(&rest) else { return false }
            units[index] = unit
        }
        return rest.isEmpty
    }

    /// The next unit of a list; nil if there is none.
    private static func next(_ list: inout Substring.UTF8View) -> UInt16? {
        var unit: UInt16 = 0
        var digits = 0
        while let character = list.popFirst(), character != UInt8(ascii: ",") {
            guard digits < 4, let digit = Character(Unicode.Scalar(character)).hexDigitValue else { return nil }
            unit = unit << 4 | UInt16(digit)
            digits += 1
        }
        return digits > 0 ? unit : nil
    }
}
