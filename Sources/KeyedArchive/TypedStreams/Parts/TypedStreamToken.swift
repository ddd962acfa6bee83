/// One part of a typedstream, in the order of the file; ranges are places in the file.
enum TypedStreamToken {
    /// The type string of a group, whose values follow.
    case group(TypedStreamType)
    case endGroup
    /// A value of `!`, which takes no bytes.
    case nothing
    /// Nil for an object, class, string, C string, atom or selector.
    case null
    /// A byte of `c`, `C` or `B`.
    case byte(UInt8)
    /// A value of one of the other integer types, also in place of a floating-point number.
    case number(TypedStreamNumber)
    case float(bits: UInt32)
    case double(bits: UInt64)
    /// A value of `+`.
    case text(Range<Int>)
    /// An atom or a selector.
    case name(TypedStreamSharedString)
    /// An array of `c` or `C`.
    case bytes(Range<Int>, encoding: UInt8)
    /// An array with values inside.
    case array(count: Int, element: Int)
    /// An array that takes no bytes, with the place of its encoding.
    case emptyArray(count: Int, element: Range<Int>)
    case endArray
    case structure(name: Range<Int>?)
    case endStructure
    /// An object, class or C string by its label.
    case reference(Int)
    /// An object: its class follows, then its groups.
    case object(Int)
    case endObject
    /// A class; its superclass follows, unless the reader leaves out what is inside of labels.
    case type(Int, name: TypedStreamSharedString, version: TypedStreamNumber)
    case cString(Int, TypedStreamSharedString)
}

/// A string that has a number, by which other places refer to it.
struct TypedStreamSharedString {
    let range: Range<Int>
    /// The number; -1 if the reader does not count them and the string is new.
    let number: Int
    /// Whether it stands here in full.
    let isNew: Bool
}
