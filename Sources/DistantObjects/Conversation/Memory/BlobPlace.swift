/// The place for the bytes of a new blob.
///
/// A *blob* is a byte value in a *region*: memory that one side has made and both sides have mapped. A message
/// *mentions* the blob in its table of references instead of carrying the bytes.
enum BlobPlace {
    /// A free region, which the peer knows or was offered.
    case region(MadeBlob)
    /// A region of this size, which the caller has to make. The table has reserved the size.
    case fresh(Int)
    /// Memory of this process.
    case memory
}
