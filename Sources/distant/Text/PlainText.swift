/// Makes text from archives safe for a terminal: one line, without control characters.
enum PlainText {
    /// The most characters to show; longer text is cut off.
    static let longest = 200

    /// The name itself, or in quotes if it would be ambiguous.
    static func name(_ text: String) -> String {
        let isPlain = text.utf8.count <= longest && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        if isPlain && !text.isEmpty { return text }
        let isReadable = text.unicodeScalars.prefix(longest + 1).allSatisfy { !needsEscape($0) && $0 != "\"" }
        let isShort = text.utf8.count <= longest
        return isReadable && isShort && !text.isEmpty ? text : quoted(text)
    }

    /// A string in quotes; only the beginning and the length if it is long.
    ///
    /// - Parameter byteCount: The length in UTF-8, if `text` is not all.
    static func quoted(_ text: String, byteCount: Int? = nil) -> String {
        var result = "\""
        var count = 0
        for scalar in text.unicodeScalars {
            count += 1
            if count > longest { break }
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where needsEscape(scalar): result += "\\u{\(String(scalar.value, radix: 16))}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return count > longest ? "\(result)…\" (\(byteCount ?? text.utf8.count) bytes of UTF-8)" : result + "\""
    }

    private static func needsEscape(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: return true
        default: return false
        }
    }
}
