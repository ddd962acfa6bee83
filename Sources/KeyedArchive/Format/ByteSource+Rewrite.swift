extension ByteSource {
    /// Writes the elements of a packed list, a list of references or bytes as ordinary values; returns their count.
    mutating func rewriteElements(_ tag: UInt8, _ limits: ArchiveLimits, into sink: inout ByteSink) throws -> Int {
        switch tag {
        case Tag.packed:
            let kind = try packedKind()
            let count = try packedCount(kind)
            try check(count, limits)
            for _ in 0..<count { try rewriteScalar(kind, into: &sink) }
            return count
        case Tag.bytes:
            let count = try length()
            try check(count, limits)
            for _ in 0..<count { sink.integer(Int64(try byte())) }
            return count
        default:
            let count = try length()
            try check(count, limits)
            var expected: Int64 = 0
            for _ in 0..<count {
                let number = expected &+ (try zigzag())
                sink.byte(Tag.reference)
                sink.varint(UInt64(bitPattern: number))
                expected = number &+ 1
            }
            return count
        }
    }

    private func check(_ count: Int, _ limits: ArchiveLimits) throws {
        guard count <= limits.collection else {
            throw ArchiveError(.limit, "more than \(limits.collection) elements")
        }
    }

    private mutating func rewriteScalar(_ kind: PackedKind, into sink: inout ByteSink) throws {
        switch kind {
        case .int8: sink.integer(Int64(try fixed(Int8.self)))
        case .int16: sink.integer(Int64(try fixed(Int16.self)))
        case .int32: sink.integer(Int64(try fixed(Int32.self)))
        case .int64: sink.integer(try fixed(Int64.self))
        case .uint8: sink.unsigned(UInt64(try fixed(UInt8.self)))
        case .uint16: sink.unsigned(UInt64(try fixed(UInt16.self)))
        case .uint32: sink.unsigned(UInt64(try fixed(UInt32.self)))
        case .uint64: sink.unsigned(try fixed(UInt64.self))
        case .float: sink.float(Float(bitPattern: try fixed(UInt32.self)))
        case .double: sink.double(Double(bitPattern: try fixed(UInt64.self)))
        case .bool: sink.boolean(try byte() != 0)
        }
    }
}
