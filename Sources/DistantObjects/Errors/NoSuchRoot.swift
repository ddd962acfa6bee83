/// There is no root of that name.
struct NoSuchRoot: Error {
    let name: String

    /// The error that the peer gets.
    var refusal: ConnectionError {
        ConnectionError(
            .noSuchRoot,
            name.isEmpty ? "the peer vends no root object" : "the peer vends no root object of that name",
            context: name.isEmpty ? nil : name)
    }
}
