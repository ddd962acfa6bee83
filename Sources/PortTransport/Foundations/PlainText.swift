/// Makes text that another process has given fit for a terminal and a log.
///
/// Such text may come from anyone who may connect. Characters that a terminal obeys could hide or forge what a user sees.
package enum PlainText {
    /// The text with a question mark for each character that is obeyed and not shown; its lines and tabs stay.
    ///
    /// These are the control characters, the separators of lines and paragraphs, invisible ones such as those that turn the direction
    /// of writing, and those that have no meaning everywhere.
    ///
    /// - Complexity: O(*n*); nothing is allocated if there are none.
    package static func lines(_ text: String) -> String {
        replacing(text) { $0 == "\n" || $0 == "\t" || joiners.contains($0) ? nil : "?" }
    }

    /// The same on one line, where a line feed is shown as `\n`.
    ///
    /// - Complexity: O(*n*); nothing is allocated if there are none.
    package static func line(_ text: String) -> String {
        replacing(text) { $0 == "\n" ? #"\n"# : "?" }
    }

    /// Some languages and emoji need them within a text.
    private static let joiners: [Unicode.Scalar] = ["\u{200C}", "\u{200D}"]

    /// - Parameter shown: What is shown instead of a character that is obeyed; nil: itself.
    private static func replacing(_ text: String, _ shown: (Unicode.Scalar) -> String?) -> String {
        guard text.unicodeScalars.contains(where: isObeyed) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if isObeyed(scalar), let other = shown(scalar) {
                result += other
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func isObeyed(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: return true
        default: return false
        }
    }
}
