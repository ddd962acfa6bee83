/// A value of a typedstream, or the beginning or end of a structure or array.
///
/// Structures and arrays are not nested in one another here: their fields and elements follow, then their end. So a value
/// takes little memory, and structures may be nested to any depth.
public enum TypedStreamValue: Sendable, Hashable {
    /// Nil, in place of an object, class or string.
    case null
    /// A value of the type `!`, which archivers skip.
    case nothing
    /// A Boolean of the type `B`; older archives store Booleans as `c`.
    case bool(Bool)
    /// An integer; the type of the group tells its width.
    case integer(Int64)
    /// An integer above `Int64.max`.
    case unsigned(UInt64)
    /// The bits of a `Float`, so that every NaN is kept and equal to itself.
    case float(bits: UInt32)
    /// The bits of a `Double`.
    case double(bits: UInt64)
    /// A string of the type `+`, the content of `NSString`.
    case text(ArchivedText)
    /// A string of the type `%`, which NeXT's archivers share between objects; nil for none.
    case atom(ArchivedText?)
    /// The name of a selector; nil for none.
    case selector(ArchivedText?)
    /// An object, class or C string, by its label in the graph.
    case label(Int)
    /// The bytes of an array of `c` or `C`.
    case bytes(ArchivedText, isSigned: Bool)
    /// An array, whose elements follow.
    case array(count: Int, of: ArchivedText)
    /// The end of the elements of an array.
    case endArray
    /// An array whose elements take no bytes, such as `[5!]` or `[0@]`; there may be billions, and none follows.
    case emptyArray(count: Int, of: ArchivedText)
    /// A structure, whose fields follow; old archivers leave the name out.
    case structure(name: ArchivedText?)
    /// The end of the fields of a structure.
    case endStructure
}
