#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension ArchivedValue {
    /// Whether the value contains `Data` that may be lent; see `Data.init(lending:owner:)`.
    var mayBeLent: Bool {
        var waiting = [self]
        while let value = waiting.popLast() {
            switch value {
            case .data(let data): if data.count >= Blob.smallest { return true }
            case .scalars(let scalars): if scalars.bytes.count >= Blob.smallest { return true }
            case .present(let value): waiting.append(value)
            case .list(let values), .set(let values): waiting.append(contentsOf: values)
            case .map(let pairs): for pair in pairs { waiting += [pair.key, pair.value] }
            case .record(let record): waiting.append(contentsOf: record.values)
            default: break
            }
        }
        return false
    }

    /// The value with copies of lent `Data`, safe to return to users.
    ///
    /// Recursion follows only values inside one object, whose depth is limited.
    var copied: ArchivedValue {
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
