#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension ArchivedGraph {
    /// Reads a whole archive in any format, which is detected from its content.
    ///
    /// - Parameters:
    ///   - bytes: The archive, which is kept while the graph is in use.
    ///   - limits: Bounds beyond which reading throws.
    ///   - anyArchiver: Whether to accept archives in Apple's layout from archivers other than `NSKeyedArchiver`.
    /// - Throws: `ArchiveError` if the bytes are not such an archive, or exceed the limits.
    /// - Complexity: Linear; the archive is checked once, and objects are made on demand.
    public init(_ bytes: [UInt8], limits: ArchiveLimits = ArchiveLimits(), anyArchiver: Bool = false) throws {
        try self.init(ArchiveBytes(bytes), limits, anyArchiver)
    }

    /// Reads a whole archive in any format, which is detected from its content.
    ///
    /// - Parameters:
    ///   - data: The archive, which is kept while the graph is in use.
    ///   - limits: Bounds beyond which reading throws.
    ///   - anyArchiver: Whether to accept archives in Apple's layout from archivers other than `NSKeyedArchiver`.
    /// - Throws: `ArchiveError` if the bytes are not such an archive, or exceed the limits.
    /// - Complexity: Linear; the archive is checked once, and objects are made on demand.
    public init(_ data: Data, limits: ArchiveLimits = ArchiveLimits(), anyArchiver: Bool = false) throws {
        try self.init(ArchiveBytes(data), limits, anyArchiver)
    }

    private init(_ owner: ArchiveBytes, _ limits: ArchiveLimits, _ anyArchiver: Bool) throws {
        switch try ArchiveFormat.detect(owner.bytes, limits: limits) {
        case .compact:
            let layout = try CompactLayout(owner, limits: limits)
            if let archiver = layout.keyed?.archiver, !anyArchiver { try KeyedLayout.check(archiver: archiver) }
            self.init(layout)
        case let format:
            let table = try PlistTable.open(owner, format, limits: limits)
            self.init(try KeyedLayout(table, limits: limits, anyArchiver: anyArchiver))
        }
    }
}
