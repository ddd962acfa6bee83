#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Large data that stays in the user's memory until it is sent.
struct Blob {
    /// Data of at least this many bytes is not copied.
    static let smallest = 32 << 10

    /// Where in the sink the data belongs.
    var position: Int
    let owner: AnyObject
    let bytes: UnsafeRawBufferPointer
}

/// Keeps the memory of a `Data` in place, unless it is so small that it is stored inline.
final class DataOwner {
    let data: Data
    init(_ data: Data) { self.data = data }
}
