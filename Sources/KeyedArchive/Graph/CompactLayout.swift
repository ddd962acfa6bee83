/// An archive in the compact format whose objects are taken from it when asked for.
///
/// After `init` all of them have been read once, so that none can fail.
// Immutable after `init`: the decoder only says where the bodies lie.
final class CompactLayout: @unchecked Sendable {
    let objectCount: Int
    let roots: ArchivedRecord
    private let owner: ArchiveBytes
    private let decoder: ObjectDecoder
    private let limits: Limits

    init(_ owner: ArchiveBytes, limits: Limits) throws {
        let (shapes, body) = try CompactFile.parse(owner.bytes, limits: limits)
        self.owner = owner
        self.limits = limits
        decoder = try ObjectDecoder(bytes: body, owner: owner, shapes: shapes, limits: limits)
        objectCount = decoder.state.pointee.objectCount
        var reader = GraphReader(decoder: decoder, limits: limits)
        roots = try reader.roots()
        for number in 0..<objectCount { _ = try reader.object(number) }
    }

    /// The object with a number.
    func object(_ number: Int) -> ArchivedObject {
        var reader = GraphReader(decoder: decoder, limits: limits)
        guard let record = try? reader.object(number) else { return .value(.null) }
        return .instance(record)
    }
}
