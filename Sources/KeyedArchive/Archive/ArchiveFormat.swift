/// The formats an archive can be written in.
public struct ArchiveFormat: Sendable, Hashable {
    private let name: String

    private init(_ name: String) { self.name = name }

    /// This library's own format: small, fast, self-describing.
    ///
    /// Described byte by byte in <doc:ArchiveFormat>.
    public static let compact = ArchiveFormat("compact")
}
