#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension ObjectDecoder {
    /// `Data` of at least this many bytes is a slice of the archive instead of a copy.
    static let smallestSlice = 16 << 10

    /// Reads a value of any type.
    @inline(__always)
    func read<T: Decodable>(_ type: T.Type) throws -> T {
        if let reader = state.readers.find(T.self) {
            return try reader._withUnsafeGuaranteedRef {
                try unsafeDowncast($0, to: ValueReader<T>.self).read(self)
            }
        }
        let reader = ValueReader<T>.of(T.self)
        state.readers.remember(reader, for: T.self)
        return try reader.read(self)
    }

    @inline(never)
    func mismatch(_ expected: String, _ type: Any.Type) -> ArchiveError {
        guard let tag = input.next else { return ByteSource.truncated() }
        var source = input
        let isNil = (try? source.takeNil()) ?? false
        return ArchiveError(
            expected: type, isAbsent: isNil, "expected \(expected), found \(isNil ? "nil" : Tag.describe(tag))")
    }

    /// Reads a tag; throws if it is another one.
    @inline(__always)
    func expect(_ tag: UInt8, _ expected: @autoclosure () -> String, _ type: Any.Type) throws {
        guard input.take(tag) else { throw mismatch(expected(), type) }
    }

    /// Consumes a nil if it comes next; returns whether it did.
    func readNil() throws -> Bool { try input.takeNil() }

    /// Reads a value or nil; for an optional in an optional, the outer nil.
    func readIfPresent<T: Decodable>(_ type: T.Type) throws -> T? {
        let tag = try input.peek()
        if tag == Tag.none || tag == Tag.conditional {
            if try readNil() { return nil }
        } else if tag == Tag.some, T.self is any AnyOptional.Type {
            try input.advance(1)
        }
        return try read(type)
    }

    // MARK: Scalars

    @inline(__always)
    func readInteger<T: FixedWidthInteger>(_ type: T.Type) throws -> T {
        if let small = input.takeSmall() { return T(truncatingIfNeeded: small) }
        return try readLongInteger(type)
    }

    private func readLongInteger<T: FixedWidthInteger>(_ type: T.Type) throws -> T {
        let start = input.position
        let result: T?
        switch try input.byte() {
        case Tag.integer: result = T(exactly: try input.zigzag())
        case Tag.unsigned: result = T(exactly: try input.varint())
        case Tag.int128: result = T(exactly: try input.fixed(Int128.self))
        case Tag.uint128: result = T(exactly: try input.fixed(UInt128.self))
        default:
            input.seek(to: start)
            if let number = try readWhole(type) { return number }
            if foreign != nil, let number = try readForeignInteger(type) { return number }
            throw mismatch("\(T.self)", T.self)
        }
        guard let result else { throw ArchiveError(.outOfRange, "the number does not fit \(T.self)") }
        return result
    }

    @inline(__always)
    func readBool() throws -> Bool {
        if input.take(Tag.isTrue) { return true }
        if input.take(Tag.isFalse) { return false }
        // Some archivers write Booleans as numbers.
        if foreign != nil, let number = input.next, number < 2 {
            try input.advance(1)
            return number == 1
        }
        throw mismatch("Bool", Bool.self)
    }

    func readDouble() throws -> Double {
        let start = input.position
        switch try input.byte() {
        case Tag.double: return Double(bitPattern: try input.fixed(UInt64.self))
        case Tag.float: return Double(Float(bitPattern: try input.fixed(UInt32.self)))
        case 0...0x7F, Tag.integer, Tag.unsigned:
            input.seek(to: start)
            let number = try readInteger(Int128.self)
            guard let result = Double(exactly: number) else {
                throw ArchiveError(.outOfRange, "the number does not fit Double")
            }
            return result
        default:
            input.seek(to: start)
            throw mismatch("Double", Double.self)
        }
    }

    func readFloat() throws -> Float {
        if input.take(Tag.float) { return Float(bitPattern: try input.fixed(UInt32.self)) }
        let wide = try readDouble()
        if let result = Float(exactly: wide) { return result }
        guard wide.isNaN || foreign != nil else { throw ArchiveError(.outOfRange, "the number does not fit Float") }
        return Float(wide)
    }

    @inline(__always)
    func readString() throws -> String {
        if let length = input.takeShortString() { return try input.text(length) }
        guard input.next == Tag.string else { throw mismatch("String", String.self) }
        return try input.stringValue(limits)
    }

    // MARK: Bytes

    func readRawBytes() throws -> UnsafeRawBufferPointer {
        if let foreign, let bytes = try readOutside(foreign.outside) { return bytes }
        try expect(Tag.bytes, "Data", Data.self)
        return try input.bytes(try input.length())
    }

    /// Reads bytes outside the body; nil if the next value is something else.
    private func readOutside(_ outside: UnsafeRawBufferPointer) throws -> UnsafeRawBufferPointer? {
        var source = input
        guard try source.byte() == Tag.outside else { return nil }
        let start = try source.varint()
        let count = try source.varint()
        guard start <= UInt64(outside.count), count <= UInt64(outside.count) - start else {
            throw ByteSource.truncated()
        }
        input = source
        return UnsafeRawBufferPointer(rebasing: outside[Int(start)..<Int(start + count)])
    }

    func readData() throws -> Data {
        if let object = try readExternalBytes() { return object.withBytes { Data($0) } }
        let bytes = try readRawBytes()
        guard bytes.count >= Self.smallestSlice, handsOutSlices, let owner, let start = bytes.baseAddress else {
            return Data(bytes)
        }
        if let known = notes.slices[start] { return known }
        let slice = Data(
            bytesNoCopy: UnsafeMutableRawPointer(mutating: start), count: bytes.count,
            deallocator: .custom { _, _ in withExtendedLifetime(owner) {} })
        // A uniquely referenced `Data` is changed in place. The decoder may read these bytes again, so it keeps a
        // second reference: a change then makes a copy.
        notes.slices[start] = slice
        return slice
    }

    func readBytes() throws -> [UInt8] {
        if let object = try readExternalBytes() { return object.withBytes { Self.copy(of: $0) } }
        return Self.copy(of: try readRawBytes())
    }

    private static func copy(of bytes: UnsafeRawBufferPointer) -> [UInt8] {
        // The storage of all empty arrays is one object, which must not be written from several threads.
        guard !bytes.isEmpty else { return [] }
        return [UInt8](unsafeUninitializedCapacity: bytes.count) { target, count in
            let target = UnsafeMutableRawBufferPointer(target)
            HugePages.advise(target)
            target.copyMemory(from: bytes)
            count = bytes.count
        }
    }

    // MARK: Foundation's values

    func readDate() throws -> Date {
        try expect(Tag.date, "Date", Date.self)
        return Date(timeIntervalSinceReferenceDate: Double(bitPattern: try input.fixed(UInt64.self)))
    }

    func readUUID() throws -> UUID {
        if let uuid = try readForeignUUID() { return uuid }
        try expect(Tag.uuid, "UUID", UUID.self)
        return UUID(uuid: try input.bytes(MemoryLayout<uuid_t>.size).loadUnaligned(as: uuid_t.self))
    }

    func readURL() throws -> URL {
        if let url = try readForeignURL() { return url }
        try expect(Tag.url, "URL", URL.self)
        let relative = try readString()
        let hasBase = try !readNil()
        let base = hasBase ? URL(string: try readString()) : nil
        // Without its base, the URL would be a different one.
        guard let url = URL(string: relative, relativeTo: base), base != nil || !hasBase else {
            throw ArchiveError(.corrupt, "an invalid URL")
        }
        return url
    }

    func readDecimal() throws -> Decimal {
        if let decimal = try readForeignDecimal() { return decimal }
        try expect(Tag.decimal, "Decimal", Decimal.self)
        let (digits, exponent) = try input.decimal(limits)
        return try DecimalText.decimal(digits, exponent: exponent)
    }

    // MARK: Collections

    /// Runs `body` one level of nesting deeper.
    @inline(__always)
    func nested<R>(_ body: () throws -> R) throws -> R {
        guard state.depth < state.levels.room else { return try deeper { try inLevel(body) } }
        return try inLevel(body)
    }

    @inline(__always)
    private func inLevel<R>(_ body: () throws -> R) throws -> R {
        descend(from: frame)
        defer { state.depth &-= 1 }
        return try body()
    }

    /// Reads the elements of a list in any form and passes each to `each`.
    func readElements<T>(
        _ expected: String, _ reader: ValueReader<T>, _ each: (T) throws -> Void, reserve: (Int) -> Void
    )
        throws
    {
        let tag = try input.peek()
        switch tag {
        case Tag.list, Tag.set:
            try input.advance(1)
            let count = try input.elementCount(limits)
            reserve(bounded(count, T.self))
            try nested { try read(count, reader, each) }
        case Tag.packed, Tag.references, Tag.bytes:
            try input.advance(1)
            try readRewritten(tag, reader, each, reserve: reserve)
        default: throw mismatch(expected, [Any].self)
        }
    }

    private func read<T>(_ count: Int, _ reader: ValueReader<T>, _ each: (T) throws -> Void) throws {
        for index in 0..<count {
            note(element: index)
            do { try each(try reader.read(self)) } catch { throw ArchiveError.wrapping(error, at: .index(index)) }
        }
    }

    private func readRewritten<T>(
        _ tag: UInt8, _ reader: ValueReader<T>, _ each: (T) throws -> Void, reserve: (Int) -> Void
    ) throws {
        var sink = ByteSink()
        let count: Int
        do { count = try input.rewriteElements(tag, limits, into: &sink) } catch {
            sink.deallocate()
            throw error
        }
        let outer = input
        input = ByteSource(sink.bytes)
        defer {
            input = outer
            sink.deallocate()
        }
        reserve(bounded(count, T.self))
        try nested { try read(count, reader, each) }
    }

    /// How many elements to reserve room for: in memory they may take many times the size of their bytes.
    func bounded<T>(_ count: Int, _ type: T.Type) -> Int {
        min(count, max(16, (64 << 10) / max(MemoryLayout<T>.stride, 1)))
    }

    /// From this count on, it costs less to keep an array than to retain its elements.
    private var smallestKept: Int { 8 }

    /// Reads an array of objects.
    func readObjects<T: ObjectCoding>(_ type: T.Type) throws -> [T] {
        guard input.take(Tag.references) else {
            var result: [T] = []
            try readElements(
                "a list of \(name(of: type))", ValueReader<T>.of(type), { result.append($0) },
                reserve: { result.reserveCapacity($0) })
            return result
        }
        let count = try input.elementCount(limits)
        let isKept = count >= smallestKept
        // No more than the table of objects already takes for bytes that are present.
        let result = try [T](unsafeUninitializedCapacity: count) { target, made in
            do {
                try readReferences(into: target, &made, isKept: isKept)
            } catch {
                // The array releases its elements now, but the archive may refer to them again.
                if isKept { notes.keepers.append(ArrayOwner(Array(target[..<made]))) }
                throw error
            }
        }
        // As long as the archive is read, it may refer to the objects again. Keeping the array costs less than each.
        if isKept { notes.keepers.append(ArrayOwner(result)) }
        return result
    }

    @inline(__always)
    private func readReferences<T: ObjectCoding>(
        into target: UnsafeMutableBufferPointer<T>, _ made: inout Int, isKept: Bool
    ) throws {
        guard let base = target.baseAddress else { return }
        // The frame is copied once for the list, not for each element.
        let list = frame
        var source = list.source
        var height = list.height
        defer {
            frame = list
            frame.height = height
            input = source
        }
        var expected: Int64 = 0
        while made < target.count {
            let number = expected &+ (try source.zigzag())
            do {
                let object = try element(
                    UInt64(bitPattern: number), as: T.self, in: list, at: made, &height, isKept: isKept)
                // A buffer's `initializeElement` would ask the type's metadata how to store a reference.
                base.advanced(by: made).initialize(to: object)
            } catch {
                throw ArchiveError.wrapping(error, at: .index(made))
            }
            made &+= 1
            expected = number &+ 1
        }
    }

    /// Reads scalars, stored in their memory layout or one by one.
    func readScalars<T: BitwiseCopyable>(_ type: T.Type, _ kind: PackedKind, _ reader: ValueReader<T>) throws -> [T] {
        var source = input
        if try source.byte() == Tag.packed, try source.packedKind() == kind {
            let count = try source.packedCount(kind)
            guard count <= limits.collection else {
                throw ArchiveError(.limit, "more than \(limits.collection) elements")
            }
            let bytes = try source.bytes(count * kind.width)
            input = source
            // A byte other than 0 and 1 is not a valid `Bool`.
            if kind == .bool { return bytes.compactMap { ($0 != 0) as? T } }
            return [T](unsafeUninitializedCapacity: count) { target, initialized in
                UnsafeMutableRawBufferPointer(target).copyMemory(from: bytes)
                initialized = count
            }
        }
        var result: [T] = []
        try readElements("a list of \(T.self)", reader, { result.append($0) }, reserve: { result.reserveCapacity($0) })
        return result
    }
}

extension ObjectDecoder {
    /// Reads bytes that were written as such or as a list.
    func readByteList() throws -> [UInt8] {
        let tag = try input.peek()
        if tag == Tag.bytes || tag == Tag.external { return try readBytes() }
        return try readScalars(UInt8.self, .uint8, ValueReader<UInt8>.of(UInt8.self))
    }
}
