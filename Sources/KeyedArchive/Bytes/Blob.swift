#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Large data that stays in the user's memory until it is sent.
struct Blob {
    /// From this size on, in bytes, data is not copied.
    static let smallest = 32 << 10

    /// Their position in the sink.
    var position: Int
    let owner: AnyObject
    let bytes: UnsafeRawBufferPointer
}

/// Keeps the memory of a `Data` in place, unless it is so small that it is stored inline.
final class DataOwner {
    let data: Data
    init(_ data: Data) { self.data = data }
}
