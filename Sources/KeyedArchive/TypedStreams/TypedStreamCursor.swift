/// Reads values of a typedstream one after the other: those of an object, or those that belong to none.
///
/// The stream was checked when it was opened, so each value is there and has the form that its type says.
package struct TypedStreamCursor {
    private var reader: TypedStreamReader

    /// A cursor at the values that belong to no object.
    package init(_ graph: TypedStreamGraph) { reader = TypedStreamReader(viewing: graph.groups.start) }

    /// A cursor at the values of an object.
    package init(_ object: TypedStreamObject) { reader = TypedStreamReader(viewing: object.groups.start) }

    /// The place in the file.
    package var position: Int { reader.source.position }

    /// The encoding of the next value, in the same group or the next one; nil at the end.
    ///
    /// It must not be asked inside an array or a structure.
    package mutating func nextType() -> ArchivedText? {
        while true {
            if reader.isBetweenGroups {
                guard case .group? = try? reader.next() else { return nil }
            } else if reader.at < reader.typeEnd {
                let start = reader.at
                let isLeaf = TypedStreamType.isLeaf(reader.source.byte(at: start))
                return reader.text(start..<(isLeaf ? start + 1 : reader.end(ofEncodingAt: start)))
            } else {
                _ = try? reader.next()
            }
        }
    }

    /// The encodings from the next value to the end of its group; nil at the end.
    package mutating func restOfGroup() -> ArchivedText? {
        nextType() == nil ? nil : reader.text(reader.at..<reader.typeEnd)
    }

    /// The encoding of the value that was read last, if it was neither an array nor a structure.
    package var lastEncoding: UInt8 { reader.lastEncoding }

    /// The next value, or what begins or ends there; nil at the end of a group.
    package mutating func next() -> TypedStreamValue? {
        guard let token = try? reader.next() else { return nil }
        return TypedStreamValue(token, &reader)
    }
}
