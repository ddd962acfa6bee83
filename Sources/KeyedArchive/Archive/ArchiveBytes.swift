#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Keeps the bytes of an archive in place while anything refers to them.
// Immutable after `init`.
final class ArchiveBytes: @unchecked Sendable {
    private let array: [UInt8]
    private let data: Data

    init(_ array: [UInt8]) {
        self.array = array
        data = Data()
    }

    init(_ data: Data) {
        // A small `Data` has no memory of its own to point to.
        let isSmall = data.count < 1024
        self.data = isSmall ? Data() : data
        array = isSmall ? Array(data) : []
    }

    var bytes: UnsafeRawBufferPointer {
        // Neither is changed as long as this object lives, so the memory stays where it is.
        data.isEmpty ? array.withUnsafeBytes { $0 } : data.withUnsafeBytes { $0 }
    }
}
