// ComingFromJSON.md: interfaces
package import DistantObjects

/// What the formatter can be asked.
package struct FormatterInterface: Interface {
    package init() {}
    /// Formats a text.
    package let format = Signature<String, String>("format")
    /// Counts the files that are not formatted.
    package let check = Signature<Int, [String], ProgressReporter>("check")
    /// Finds the files that are not formatted.
    package let unformatted = Signature<DistantStream<String>, [String]>("unformatted")
    /// Formats a text as the editor wants it.
    package let formatForEditor = Signature<String, String, Remote<EditorInterface>>("formatForEditor")
    /// Formats a large text.
    package let formatBytes = Signature<SharedBytes, SharedBytes>("formatBytes")
    /// The errors that reach the tool as the formatter threw them.
    package static var errors: [any (Error & Codable).Type] { [FormatError.self] }
}

/// What the formatter asks and tells the tool.
package struct EditorInterface: Interface {
    package init() {}
    /// The width of an indentation, in spaces.
    package let width = Signature<Int>("width")
    /// A message for the user.
    package let show = Signature<Void, String>("show")
}
// end
