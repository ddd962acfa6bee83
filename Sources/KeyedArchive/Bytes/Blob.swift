#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Big bytes that stay in the user's memory until they are sent.
struct Blob {
    /// From this size on, in bytes, data is not copied.
    static let smallest = 32 << 10

    /// Where in the sink they belong.
    var position: Int
    let owner: AnyObject
    let bytes: UnsafeRawBufferPointer
}

/// Keeps the memory of a `Data` where it is; of one that is not so small that it has none.
final class DataOwner {
    let data: Data
    init(_ data: Data) { self.data = data }
}
