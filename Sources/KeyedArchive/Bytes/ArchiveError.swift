/// What went wrong while an archive was written or read, and where.
///
/// `description` reads like `root.foos[3].age: expected Int, found String`. The message never contains values of the
/// user, only names of types and keys.
public struct ArchiveError: Error, Sendable, CustomStringConvertible {
    /// The kind of an `ArchiveError`.
    ///
    /// New codes may be added: always have a `default` when switching.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the code, as it is printed.
        public let rawValue: String

        /// Makes a code with this name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The name of the code.
        public var description: String { rawValue }

        /// The bytes are not an archive, or break a rule of the format.
        public static let corrupt = Code(rawValue: "corrupt")
        /// The bytes end before the archive does.
        public static let truncated = Code(rawValue: "truncated")
        /// A bound of `ArchiveLimits` was exceeded.
        public static let limit = Code(rawValue: "limit")
        /// No value is stored for the key.
        public static let missingKey = Code(rawValue: "missingKey")
        /// The stored value has another type than requested.
        public static let typeMismatch = Code(rawValue: "typeMismatch")
        /// The stored number does not fit the requested type.
        public static let outOfRange = Code(rawValue: "outOfRange")
        /// The class of an object is not allowed at this place.
        public static let classNotAllowed = Code(rawValue: "classNotAllowed")
        /// An object refers to itself through a path decoded without `decodeReference`.
        public static let cycle = Code(rawValue: "cycle")
        /// A key was encoded twice into one object or value.
        public static let duplicateKey = Code(rawValue: "duplicateKey")
        /// A coder or container was used in a way it does not support.
        public static let misuse = Code(rawValue: "misuse")
        /// The type's own coding code threw; see `underlying`.
        public static let thrownByType = Code(rawValue: "thrownByType")
        /// A file cannot be read or written.
        public static let file = Code(rawValue: "file")
        /// There is no such file.
        public static let noSuchFile = Code(rawValue: "noSuchFile")
        /// A value cannot be archived at all, or not in a plain archive.
        public static let unsupported = Code(rawValue: "unsupported")
    }

    /// One step from a container to what it contains.
    public enum Step: Sendable, Hashable {
        /// The value for a key.
        case key(String)
        /// The element at an index.
        case index(Int)
    }

    /// The kind of failure.
    public let code: Code
    /// A sentence for people, without the user's values.
    public let message: String
    /// The error thrown by the type's own code, if that is what ended coding.
    public let underlying: (any Error)?
    /// The steps from the root, innermost first, as they are collected while the error travels outwards.
    private(set) var reversedSteps: [Step] = []
    private var isShortened = false
    /// The type that the reading code asked for, if a value of another kind was found.
    private(set) var expected: Any.Type?
    /// Whether nil was found, or the end of a list.
    private(set) var isAbsent = false

    /// Makes an error without a path; coders add the path while it travels outwards.
    public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.underlying = underlying
    }

    /// The error for another value than the one asked for, or for nil or nothing in its place.
    init(_ code: Code = .typeMismatch, expected: Any.Type, isAbsent: Bool = false, _ message: String) {
        self.init(code, message)
        self.expected = expected
        self.isAbsent = isAbsent
    }

    /// The steps from the root to the place, outermost first.
    ///
    /// Very long paths keep their innermost steps only.
    public var steps: [Step] { reversedSteps.reversed() }

    /// The place as text: `root.foos[3].age`; empty if the error concerns the archive as a whole.
    public var path: String {
        var text = isShortened ? "…" : ""
        for step in reversedSteps.reversed() {
            switch step {
            case .key(let key): text += text.isEmpty ? key : "." + key
            case .index(let index): text += "[\(index)]"
            }
        }
        return text
    }

    /// Path and message.
    public var description: String { reversedSteps.isEmpty ? message : "\(path): \(message)" }

    // Each object of a failing chain keeps its error, and a chain may have thousands of objects: paths are bounded.
    private static let longestPath = 64

    package mutating func prepend(_ step: Step) {
        guard reversedSteps.count < Self.longestPath else {
            isShortened = true
            return
        }
        reversedSteps.append(step)
    }

    /// The same error at another place.
    func at(_ steps: [Step]) -> ArchiveError {
        var result = self
        result.reversedSteps = []
        result.isShortened = false
        for step in steps.reversed() { result.prepend(step) }
        return result
    }

    /// The error as it leaves a container: wrapped if it is not an `ArchiveError`, with `step` in front of its path.
    static func wrapping(_ error: any Error, at step: Step?) -> ArchiveError {
        var result = (error as? ArchiveError) ?? foreign(error)
        if let step { result.prepend(step) }
        return result
    }

    private static func foreign(_ error: any Error) -> ArchiveError {
        let message =
            (error as? DecodingError)?.context.debugDescription
            ?? (error as? EncodingError)?.context.debugDescription
            ?? "the type's own code threw \(type(of: error))"
        return ArchiveError(.thrownByType, message, underlying: error)
    }
}
