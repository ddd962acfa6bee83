/// Where a view reads in the bytes of a graph.
///
///     object   shape | content        number, start of the content, end of the body
///     record   D3 shape | content     start of the content, end of the value
///     value    | tag, what follows    start of the tag, end of the value
struct GraphPlace: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        /// An instance of a class, by its number.
        case object(Int)
        /// A value with keys.
        case record
        /// Any other value.
        case value
    }

    let kind: Kind
    /// The number of its shape; 0 for a value.
    let shape: Int
    /// Where the content begins.
    let start: Int
    /// Where it ends.
    let end: Int

    /// Where the value begins that a record or a value is, with its tag.
    var valueStart: Int { kind == .record ? start - 3 : start }
}
