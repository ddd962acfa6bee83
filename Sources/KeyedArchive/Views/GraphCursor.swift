/// How far a list was gone through.
@usableFromInline
struct GraphCursor: @unchecked Sendable {  // Its iterator has one owner, and keeps the bytes.
    /// How the elements are written.
    enum Form: Sendable {
        /// The numbers of objects, each less the one expected.
        case references
        /// One reference to an object after the other.
        case objects
        /// One value after the other.
        case values
    }

    fileprivate let form: Form
    fileprivate var source: ByteSource
    fileprivate var left: Int
    fileprivate var expected: Int64 = 0
    /// Finds bodies fastest in order.
    fileprivate var bodies: BodyTable

    init(_ form: Form, _ source: ByteSource, _ count: Int, _ bodies: BodyTable) {
        self.form = form
        self.source = source
        left = count
        self.bodies = bodies
    }
}

extension GraphBytes {
    /// The place of a list's next element; nil at the end.
    ///
    /// The whole list was checked: it ends early only if its bytes were changed meanwhile.
    @usableFromInline
    func next(_ cursor: inout GraphCursor) -> GraphPlace? {
        guard cursor.left > 0 else { return nil }
        cursor.left &-= 1
        switch cursor.form {
        case .references:
            guard let difference = try? cursor.source.zigzag() else { return nil }
            let number = Int(cursor.expected &+ difference)
            guard number >= 0, number < cursor.bodies.count else { return nil }
            cursor.expected = Int64(number) &+ 1
            return try? object(number, cursor.bodies.body(number))
        case .objects:
            return try? referred(&cursor.source)
        case .values:
            return try? value(&cursor.source)
        }
    }
}
