#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A string or other bytes of one of Apple's older archives, in place.
///
/// Nothing says how strings are encoded; `NSString` and most others write UTF-8. A `String` would repair what is not, so
/// the bytes are kept.
public struct ArchivedText: Sendable {
    private let owner: ArchiveBytes
    private let range: Range<Int>

    init(_ owner: ArchiveBytes, _ range: Range<Int>) {
        self.owner = owner
        self.range = range
    }

    private var content: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: owner.bytes[range]) }

    /// The number of bytes.
    public var count: Int { range.count }

    /// The bytes.
    public var data: Data { Data(content) }

    /// The string; nil if the bytes are not UTF-8.
    public var string: String? { String(validating: content, as: UTF8.self) }

    /// Calls a closure with the bytes, which are valid during the call.
    ///
    /// - Parameter body: Gets the bytes.
    /// - Throws: What `body` throws.
    public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try withExtendedLifetime(owner) { try body(content) }
    }
}

extension ArchivedText: Hashable {
    /// Whether both have the same bytes.
    public static func == (first: ArchivedText, second: ArchivedText) -> Bool {
        first.withBytes { bytes in second.withBytes { bytes.elementsEqual($0) } }
    }

    /// Feeds the bytes to a hasher.
    public func hash(into hasher: inout Hasher) { withBytes { hasher.combine(bytes: $0) } }
}

extension ArchivedText: CustomStringConvertible {
    /// The string; bytes that are not UTF-8 are replaced.
    public var description: String { withBytes { String(decoding: $0, as: UTF8.self) } }
}
