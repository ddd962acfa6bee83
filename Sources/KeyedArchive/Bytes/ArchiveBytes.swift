#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Keeps the bytes of an archive in place while anything refers to them.
// Immutable after `init`.
final class ArchiveBytes: @unchecked Sendable {
    /// The archive.
    let bytes: UnsafeRawBufferPointer
    /// Keeps the memory of `bytes` in place; never changed.
    private let owner: Owner

    private enum Owner {
        case array([UInt8])
        case data(Data)
        case object(AnyObject)
    }

    init(_ array: [UInt8]) {
        owner = .array(array)
        bytes = array.withUnsafeBytes { $0 }
    }

    convenience init(_ data: Data) {
        // A small `Data` is stored inline, without memory to point to.
        if data.count < 1024 { self.init(Array(data)) } else { self.init(large: data) }
    }

    private init(large data: Data) {
        owner = .data(data)
        bytes = data.withUnsafeBytes { $0 }
    }

    init(_ segment: ArchiveSegment) {
        owner = .object(segment.owner)
        bytes = segment.bytes
    }
}

extension Data {
    /// Uses the bytes of an archive in place if there are many, and copies few.
    ///
    /// A `Data` with a unique reference is changed in place, and the memory may be the user's. So a `Data` that borrows
    /// it must not reach user code, which could change it.
    ///
    /// - Parameter owner: Keeps the bytes.
    init(lending bytes: UnsafeRawBufferPointer, owner: AnyObject) {
        guard bytes.count >= Blob.smallest, let start = bytes.baseAddress else {
            self.init(bytes)
            return
        }
        self.init(
            bytesNoCopy: UnsafeMutableRawPointer(mutating: start), count: bytes.count,
            deallocator: .custom { _, _ in withExtendedLifetime(owner) {} })
    }
}
