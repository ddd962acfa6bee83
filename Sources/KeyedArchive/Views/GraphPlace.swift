/// Where a view reads in the bytes of a graph.
///
///     object   shape | content        number, start of the content, end of the body
///     record   D3 shape | content     start of the content, end of the value
///     value    | tag, what follows    start of the tag, end of the value
@usableFromInline
struct GraphPlace: Hashable, Sendable {
    @usableFromInline
    enum Kind: UInt8, Sendable {
        /// An instance of a class.
        case object
        /// A value with keys.
        case record
        /// Any other value.
        case value
    }

    @usableFromInline let kind: Kind
    /// The number of its shape; 0 for a value.
    let shape: UInt16
    /// The number of the object; 0 for others.
    let number: UInt32
    /// Where the content begins.
    let start: Int
    /// Where it ends.
    let end: Int

    @inline(__always)
    init(_ kind: Kind, shape: UInt16 = 0, number: UInt32 = 0, start: Int, end: Int) {
        self.kind = kind
        self.shape = shape
        self.number = number
        self.start = start
        self.end = end
    }

    /// Where the value begins that a record or a value is, with its tag.
    var valueStart: Int { kind == .record ? start - 3 : start }

    /// The place of a view whose value is not archived yet.
    static let nowhere = GraphPlace(.value, start: 0, end: 0)
}
