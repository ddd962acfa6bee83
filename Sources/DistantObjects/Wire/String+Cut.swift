extension String {
    /// The beginning of the text, of at most so many bytes of UTF-8, cut between two scalars.
    ///
    /// Counted in bytes, not characters: one character can have any number of bytes.
    func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: limit)
        while end > utf8.startIndex, UTF8.isContinuation(utf8[end]) { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
