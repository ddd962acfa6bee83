import KeyedArchive

/// Writes the strings and bytes of Apple's older archives as JSON.
struct OldText {
    private let output: ByteOutput

    private static let piece = 1 << 14

    init(_ output: ByteOutput) { self.output = output }

    /// A string, `{"hex":bytes}` if it is not UTF-8, or null.
    func string(_ content: ArchivedText?) {
        guard let content else { return output.append("null") }
        guard let string = content.string else {
            output.append("{\"hex\":\"")
            hex(content)
            return output.append("\"}")
        }
        quoted(string)
    }

    /// A string each of whose bytes becomes a character.
    func characters(_ content: ArchivedText) {
        quoted(content.withBytes { String(String.UnicodeScalarView($0.map { Unicode.Scalar($0) })) })
    }

    private func quoted(_ string: String) {
        var text: [UInt8] = []
        JSONText.append(string, to: &text)
        output.append(text)
    }

    /// Bytes in hexadecimal, piece by piece.
    func hex(_ bytes: ArchivedText) {
        bytes.withBytes { bytes in
            for start in stride(from: 0, to: bytes.count, by: Self.piece) {
                var text: [UInt8] = []
                for byte in bytes[start..<min(start + Self.piece, bytes.count)] {
                    text.append(JSONText.digits[Int(byte >> 4)])
                    text.append(JSONText.digits[Int(byte & 0xF)])
                }
                output.append(text)
            }
        }
    }

    /// The bits of a number, with all digits.
    static func hex(_ bits: UInt64, digits: Int) -> String {
        let text = String(bits, radix: 16)
        return String(repeating: "0", count: digits - text.utf8.count) + text
    }
}
