extension String {
    /// The longest prefix of at most this many bytes of UTF-8 that ends between two Unicode scalars.
    ///
    /// The limit is in bytes because a character can have any number of bytes.
    func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: limit)
        while end > utf8.startIndex, UTF8.isContinuation(utf8[end]) { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
