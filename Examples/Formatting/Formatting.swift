// ComingFromJSON.md: values
/// Why a text cannot be formatted; sent by copy.
package enum FormatError: Error, Codable, Equatable {
    /// A brace is missing, or there is one too many, in the line of this number.
    case unbalanced(line: Int)
}

/// Indents the lines of a text by its braces.
package func formatted(_ text: String, width: Int = 4) throws -> String {
    var lines: [String] = []
    var depth = 0
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
        let content = line.drop { $0 == " " }
        if content.hasPrefix("}") { depth -= 1 }
        if depth < 0 { throw FormatError.unbalanced(line: lines.count + 1) }
        lines.append(String(repeating: " ", count: content.isEmpty ? 0 : depth * width) + content)
        if content.hasSuffix("{") { depth += 1 }
    }
    if depth > 0 { throw FormatError.unbalanced(line: lines.count) }
    return lines.joined(separator: "\n")
}
// end
