/// There is no root of that name.
struct NoSuchRoot: Error {
    /// Empty for the root without a name.
    let name: String
    /// Why it could not be vended; nil if nobody has tried.
    let failure: ConnectionError?

    /// The error that the peer gets.
    var refusal: ConnectionError {
        let what = name.isEmpty ? "root object" : "root object of that name"
        return ConnectionError(
            .noSuchRoot,
            failure.map { "the peer could not vend its \(what): \($0.message)" } ?? "the peer vends no \(what)",
            context: name.isEmpty ? nil : name)
    }
}
