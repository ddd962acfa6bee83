extension ByteSource {
    /// Moves past one value, however nested, without recursion.
    mutating func skipValue(_ shapes: [Shape]) throws {
        try walkValue(shapes) { _ in }
    }

    /// Moves past the next value if it is one of the common short ones; returns whether it is.
    @inline(__always)
    mutating func skipShort() -> Bool {
        guard let tag = next else { return false }
        let length: Int
        switch tag {
        case 0...0x7F, Tag.none, Tag.isFalse, Tag.isTrue: length = 1
        case Tag.firstString...Tag.lastString: length = 1 &+ Int(tag & 0x3F)
        default: return false
        }
        guard length <= remaining else { return false }
        seek(to: position &+ length)
        return true
    }

    /// As `skipShort`, but only past strings that are ASCII, which every UTF-8 reader accepts.
    @inline(__always)
    mutating func skipShortText() -> Bool {
        guard let tag = next else { return false }
        switch tag {
        case 0...0x7F, Tag.none, Tag.isFalse, Tag.isTrue:
            seek(to: position &+ 1)
            return true
        case Tag.firstString...Tag.lastString:
            let length = Int(tag & 0x3F)
            guard length < remaining, at(position &+ 1).isASCII(length) else { return false }
            seek(to: position &+ 1 &+ length)
            return true
        default: return false
        }
    }

    /// Moves past one value without recursion.
    ///
    /// - Parameters:
    ///   - conditional: Called for each object it refers to conditionally.
    ///   - visit: Called for each object it refers to unconditionally.
    @inline(__always)
    mutating func walkValue(
        _ shapes: [Shape], conditional: () -> Void = {}, _ visit: (UInt64) -> Void
    ) throws {
        var pending = 1
        while pending > 0 {
            pending &-= 1
            let tag = try byte()
            switch tag {
            case 0...0x7F, Tag.none, Tag.isFalse, Tag.isTrue: break
            case Tag.firstString...Tag.lastString: try advance(Int(tag & 0x3F))
            case Tag.integer, Tag.unsigned, Tag.external: _ = try varint()
            case Tag.reference: visit(try varint())
            case Tag.float: try advance(4)
            case Tag.conditional:
                try advance(4)
                conditional()
            case Tag.double, Tag.date: try advance(8)
            case Tag.int128, Tag.uint128, Tag.uuid: try advance(16)
            case Tag.decimal:
                _ = try varint()
                pending += 1
            case Tag.string, Tag.bytes: try advance(try length())
            case Tag.outside:
                _ = try varint()
                _ = try varint()
            case Tag.url: pending += 2
            case Tag.some: pending += 1
            case Tag.list, Tag.set: try expect(try length(), &pending)
            case Tag.map:
                let count = try length()
                try expect(count, &pending)
                try expect(count, &pending)
            case Tag.packed:
                let kind = try packedKind()
                try advance(try packedCount(kind) * kind.width)
            case Tag.references:
                var expected: Int64 = 0
                for _ in 0..<(try length()) {
                    let number = expected &+ (try zigzag())
                    visit(UInt64(bitPattern: number))
                    expected = number &+ 1
                }
            case Tag.record:
                let number = Int(try fixed(UInt16.self))
                guard number < shapes.count else {
                    throw ArchiveError(.corrupt, "a shape that is not in the archive")
                }
                let shape = shapes[number]
                if shape.layout == .explicit {
                    let count = try length()
                    try expect(count, &pending)
                    try expect(count, &pending)
                } else {
                    try expect(shape.layout == .single ? 1 : shape.keyCount, &pending)
                }
            default: throw ArchiveError(.corrupt, "an unknown tag")
            }
        }
    }

    /// Adds values to expect; throws if fewer bytes are left, as each value takes at least one.
    private func expect(_ count: Int, _ pending: inout Int) throws {
        guard count <= remaining - pending else { throw Self.truncated() }
        pending += count
    }

    mutating func packedKind() throws -> PackedKind {
        guard let kind = PackedKind(rawValue: try byte()) else {
            throw ArchiveError(.corrupt, "an unknown kind of scalars")
        }
        return kind
    }

    /// Reads a count of scalars of `kind`; throws if their bytes are missing.
    mutating func packedCount(_ kind: PackedKind) throws -> Int {
        let count = try varint()
        guard count <= UInt64(remaining / kind.width) else { throw Self.truncated() }
        return Int(count)
    }
}

extension ByteSource {
    /// Moves past an object's body, behind its shape; calls `visit` for each object it refers to unconditionally.
    mutating func walkBody(_ shape: Shape, _ shapes: [Shape], _ visit: (UInt64) -> Void) throws {
        switch shape.layout {
        case .keyed:
            for _ in 0..<shape.keyCount { try walkValue(shapes, visit) }
        case .explicit:
            for _ in 0..<(try length()) {
                try walkValue(shapes, visit)
                try walkValue(shapes, visit)
            }
        case .single:
            try walkValue(shapes, visit)
        }
    }
}
