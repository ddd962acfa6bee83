/// Writes JSON strings, and orders keys.
enum JSONText {
    static func append(_ text: String, to bytes: inout [UInt8]) {
        var text = text
        bytes.append(UInt8(ascii: "\""))
        text.withUTF8 { content in
            var start = 0
            for (index, byte) in content.enumerated() where byte < 0x20 || byte == 0x22 || byte == 0x5C {
                bytes.append(contentsOf: content[start..<index])
                start = index + 1
                switch byte {
                case 0x22, 0x5C:
                    bytes.append(UInt8(ascii: "\\"))
                    bytes.append(byte)
                case UInt8(ascii: "\n"): bytes.append(contentsOf: "\\n".utf8)
                default: appendEscape(UInt16(byte), to: &bytes)
                }
            }
            bytes.append(contentsOf: content[start...])
        }
        bytes.append(UInt8(ascii: "\""))
    }

    static func append(_ texts: [String], to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "["))
        for (index, text) in texts.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            append(text, to: &bytes)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    /// Writes a string with unpaired surrogates, which JSON can express.
    static func append(broken units: [UInt16], to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for unit in units {
            if (0x20..<0x7F).contains(unit) && unit != 0x22 && unit != 0x5C {
                bytes.append(UInt8(truncatingIfNeeded: unit))
            } else {
                appendEscape(unit, to: &bytes)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func appendEscape(_ unit: UInt16, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: "\\u".utf8)
        for shift in [12, 8, 4, 0] { bytes.append(digits[Int(unit >> shift & 0xF)]) }
    }

    static let digits = Array("0123456789abcdef".utf8)

    /// The positions of keys sorted by their UTF-8; equal keys keep their order.
    static func order(_ keys: [String]) -> [Int] {
        let positions = Array(keys.indices)
        let isInOrder = zip(keys, keys.dropFirst()).allSatisfy { !$1.utf8.lexicographicallyPrecedes($0.utf8) }
        if isInOrder { return positions }
        return positions.sorted {
            keys[$0].utf8.lexicographicallyPrecedes(keys[$1].utf8) || (keys[$0] == keys[$1] && $0 < $1)
        }
    }
}
