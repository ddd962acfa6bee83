#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension ArchivedValue {
    /// Whether the value contains `Data` that may be lent; see `Data.init(lending:owner:)`.
    ///
    /// Recursion follows only values inside one object, whose depth is limited.
    var mayBeLent: Bool {
        switch self {
        case .data(let data): data.count >= Blob.smallest
        case .scalars(let scalars): scalars.bytes.count >= Blob.smallest
        case .present(let value): value.mayBeLent
        case .list(let values), .set(let values): values.contains(where: \.mayBeLent)
        case .map(let pairs): pairs.contains { $0.key.mayBeLent || $0.value.mayBeLent }
        case .record(let record): record.values.contains(where: \.mayBeLent)
        default: false
        }
    }

    /// The value with copies of lent `Data`, safe to return to users.
    var copied: ArchivedValue {
        guard mayBeLent else { return self }
        switch self {
        case .data(let data): return .data(data.withUnsafeBytes { Data($0) })
        case .scalars(let scalars):
            return .scalars(.init(kind: scalars.kind, bytes: scalars.bytes.withUnsafeBytes { Data($0) }))
        case .present(let value): return .present(value.copied)
        case .list(let values): return .list(values.map(\.copied))
        case .set(let values): return .set(values.map(\.copied))
        case .map(let pairs): return .map(pairs.map(\.copied))
        case .record(var record):
            record.values = record.values.map(\.copied)
            return .record(record)
        default: return self
        }
    }
}

extension ArchivedValue.Pair {
    /// The pair with copies of lent `Data`.
    var copied: ArchivedValue.Pair { .init(key.copied, value.copied) }
}
