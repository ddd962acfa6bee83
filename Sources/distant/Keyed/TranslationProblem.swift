/// Why an object cannot be translated from one kind of archive into another.
struct TranslationProblem: Error {
    let message: String
    /// The position of the value in its object, where the problem is one of its values.
    let position: Int?

    init(_ message: String, at position: Int? = nil) {
        self.message = message
        self.position = position
    }
}
