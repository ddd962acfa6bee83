#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Makes a binary property list; nodes are added before their containers, and each gets a number to refer to it.
///
/// Nodes are written in their final form, except that references take four bytes until `finish`, which knows how few
/// they need. Equal small scalars become one node. Large data that has an owner stays in place.
struct PlistBuilder {
    typealias Number = UInt32

    /// The magic and the nodes.
    var out = ByteSink(capacity: 4096)
    /// Where each node begins in `out`.
    var starts = ContiguousArray<UInt32>()
    /// Node numbers plus one by the hash of the node's bytes; open addressing, 0 is free.
    var table: [UInt32]
    var tableCount = 0
    private var blobs: [Blob] = []
    private var blobBytes = 0
    private var referenceCount = 0
    let seed = UInt64.random(in: .min ... .max)
    private let limit: Int

    /// Makes a builder for a property list of up to `limits.bytes` bytes.
    init(limits: ArchiveLimits) {
        limit = min(limits.bytes, Int(UInt32.max) >> 1)
        table = [UInt32](repeating: 0, count: 256)
        out.append(UnsafeRawBufferPointer(start: Self.magic.utf8Start, count: Self.magic.utf8CodeUnitCount))
    }

    private static let magic: StaticString = "bplist00"

    func deallocate() { out.deallocate() }

    /// The number of nodes so far.
    var count: Int { starts.count }

    // MARK: Scalars

    @inline(__always)
    private mutating func begin() throws -> UInt32 {
        guard out.count + blobBytes <= limit else { throw tooLong() }
        let number = UInt32(truncatingIfNeeded: starts.count)
        starts.append(UInt32(truncatingIfNeeded: out.count))
        return number
    }

    private func tooLong() -> ArchiveError { ArchiveError(.limit, "an archive of more than \(limit) bytes") }

    mutating func null() throws -> Number { try marker(PlistMarker.null) }

    mutating func bool(_ value: Bool) throws -> Number {
        try marker(value ? PlistMarker.isTrue : PlistMarker.isFalse)
    }

    private mutating func marker(_ marker: UInt8) throws -> Number {
        let number = try begin()
        out.byte(marker)
        return unique(number)
    }

    mutating func integer(_ value: Int64) throws -> Number {
        let number = try begin()
        integerNode(value)
        return unique(number)
    }

    private mutating func integerNode(_ value: Int64) {
        switch value {
        case 0...0xFF:
            out.byte(PlistMarker.integer)
            out.byte(UInt8(truncatingIfNeeded: value))
        case 0...0xFFFF:
            out.byte(PlistMarker.integer | 1)
            out.fixed(UInt16(truncatingIfNeeded: value).byteSwapped)
        case 0...0xFFFF_FFFF:
            out.byte(PlistMarker.integer | 2)
            out.fixed(UInt32(truncatingIfNeeded: value).byteSwapped)
        default:
            out.byte(PlistMarker.integer | 3)
            out.fixed(value.byteSwapped)
        }
    }

    /// Adds an integer of any size; one that fits `Int64` takes at most eight bytes.
    mutating func integer(wide value: Int128) throws -> Number {
        if let small = Int64(exactly: value) { return try integer(small) }
        let number = try begin()
        out.byte(PlistMarker.integer | 4)
        out.fixed(value.byteSwapped)
        return unique(number)
    }

    mutating func float(bits: UInt32) throws -> Number {
        let number = try begin()
        out.byte(PlistMarker.float)
        out.fixed(bits.byteSwapped)
        return unique(number)
    }

    mutating func double(bits: UInt64) throws -> Number { try wide(PlistMarker.double, bits) }

    mutating func date(bits: UInt64) throws -> Number { try wide(PlistMarker.date, bits) }

    private mutating func wide(_ marker: UInt8, _ bits: UInt64) throws -> Number {
        let number = try begin()
        out.byte(marker)
        out.fixed(bits.byteSwapped)
        return unique(number)
    }

    mutating func uid(_ value: UInt64) throws -> Number {
        let number = try begin()
        if value <= 0xFF {
            out.byte(PlistMarker.uid)
            out.byte(UInt8(truncatingIfNeeded: value))
        } else if value <= 0xFFFF {
            out.byte(PlistMarker.uid | 1)
            out.fixed(UInt16(truncatingIfNeeded: value).byteSwapped)
        } else if value <= 0xFFFF_FFFF {
            out.byte(PlistMarker.uid | 3)
            out.fixed(UInt32(truncatingIfNeeded: value).byteSwapped)
        } else {
            out.byte(PlistMarker.uid | 7)
            out.fixed(value.byteSwapped)
        }
        return unique(number)
    }

    // MARK: Strings and bytes

    private mutating func header(_ marker: UInt8, _ count: Int) {
        if count < 0x0F {
            out.byte(marker | UInt8(count))
        } else {
            out.byte(marker | 0x0F)
            integerNode(Int64(count))
        }
    }

    /// Adds a string whose bytes are ASCII.
    mutating func ascii(_ bytes: UnsafeRawBufferPointer) throws -> Number {
        let number = try begin()
        header(PlistMarker.ascii, bytes.count)
        out.append(bytes)
        return unique(number)
    }

    /// Adds a string, which may have unpaired surrogates.
    mutating func utf16(_ units: some Collection<UInt16>) throws -> Number {
        let number = try begin()
        header(PlistMarker.utf16, units.count)
        for unit in units { out.fixed(unit.byteSwapped) }
        return unique(number)
    }

    @inline(__always)
    mutating func string(_ value: String) throws -> Number {
        var value = value
        return try value.withUTF8 { try string(utf8: UnsafeRawBufferPointer($0)) }
    }

    /// Adds a string of UTF-8, which is not checked.
    mutating func string(utf8 bytes: UnsafeRawBufferPointer) throws -> Number {
        if bytes.isASCII { return try ascii(bytes) }
        return try utf16(Array(String(decoding: bytes, as: UTF8.self).utf16))
    }

    /// Adds a copy of bytes.
    mutating func data(_ bytes: UnsafeRawBufferPointer) throws -> Number {
        let number = try begin()
        header(PlistMarker.data, bytes.count)
        out.append(bytes)
        return unique(number)
    }

    /// Adds the bytes of a text in base 64; nil if it is not base 64.
    ///
    /// They are decoded in place, to save memory for long texts.
    mutating func data(base64 text: UnsafeRawBufferPointer) throws -> Number? {
        let number = try begin()
        let start = out.count
        // The number of bytes, and so the length of the header, is known only afterwards.
        let room = 16
        out.reserve(room)
        out.count += room
        guard Base64.decode(text, into: &out) else {
            out.count = start
            starts.removeLast()
            return nil
        }
        let bytes = UnsafeRawBufferPointer(rebasing: out.bytes[(start + room)...])
        out.count = start
        header(PlistMarker.data, bytes.count)
        out.append(bytes)
        guard out.count + blobBytes <= limit else { throw tooLong() }
        return unique(number)
    }

    /// Adds bytes that `owner` keeps in place; large ones are not copied.
    mutating func data(_ bytes: UnsafeRawBufferPointer, owner: AnyObject) throws -> Number {
        guard bytes.count >= Blob.smallest else { return try data(bytes) }
        let number = try begin()
        header(PlistMarker.data, bytes.count)
        blobs.append(Blob(position: out.count, owner: owner, bytes: bytes))
        blobBytes += bytes.count
        guard out.count + blobBytes <= limit else { throw tooLong() }
        return number
    }

    mutating func data(_ data: Data) throws -> Number {
        guard data.count >= Blob.smallest else { return try data.withUnsafeBytes { try self.data($0) } }
        let owner = DataOwner(data)
        return try owner.data.withUnsafeBytes { try self.data($0, owner: owner) }
    }

    // MARK: Containers

    mutating func array(_ elements: some Collection<Number>) throws -> Number {
        let number = try begin()
        header(PlistMarker.array, elements.count)
        for element in elements { out.fixed(element) }
        referenceCount += elements.count
        return number
    }

    /// Adds a dictionary; `keys` are the numbers of strings, one for each of `values`.
    mutating func dictionary(_ keys: some Collection<Number>, _ values: some Collection<Number>) throws -> Number {
        let number = try begin()
        header(PlistMarker.dictionary, keys.count)
        for key in keys { out.fixed(key) }
        for value in values { out.fixed(value) }
        referenceCount += 2 * keys.count
        return number
    }

    /// Adds a dictionary of alternating keys and values.
    mutating func dictionary(inTurn content: ArraySlice<Number>) throws -> Number {
        let number = try begin()
        header(PlistMarker.dictionary, content.count / 2)
        for part in 0..<2 {
            var index = content.startIndex + part
            while index < content.endIndex {
                out.fixed(content[index])
                index += 2
            }
        }
        referenceCount += content.count
        return number
    }

    // MARK: The whole

    /// Completes the property list with `top` as its outermost node; nothing can be added afterwards.
    mutating func finish(top: Number) throws -> ArchivePieces {
        let referenceSize = Self.size(for: starts.count - 1)
        let table = out.count + blobBytes - referenceCount * (4 - referenceSize)
        let offsetSize = Self.size(for: table)
        guard table + starts.count * offsetSize + Self.trailerSize <= limit else { throw tooLong() }
        shortenReferences(to: referenceSize)
        out.reserve(starts.count * offsetSize + Self.trailerSize)
        for start in starts { number(start, offsetSize) }
        for byte in [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)] { out.byte(byte) }
        for number in [starts.count, Int(top), table] { out.fixed(UInt64(number).byteSwapped) }
        var pieces = ArchivePieces()
        pieces.append(out, blobs)
        out = ByteSink(capacity: 0)
        return pieces
    }

    private static let trailerSize = 32

    private static func size(for number: Int) -> Int {
        number <= 0xFF ? 1 : number <= 0xFFFF ? 2 : 4
    }

    @inline(__always)
    private mutating func number(_ value: UInt32, _ size: Int) {
        switch size {
        case 1: out.byte(UInt8(truncatingIfNeeded: value))
        case 2: out.fixed(UInt16(truncatingIfNeeded: value).byteSwapped)
        default: out.fixed(value.byteSwapped)
        }
    }

    /// Shortens references to their final size, and moves each node to its final place, never after its old one.
    ///
    /// Afterwards, node positions refer to the whole property list, and blob positions to the sink.
    private mutating func shortenReferences(to size: Int) {
        let end = out.count
        var blob = 0
        var blobsBefore = 0
        out.count = Self.magic.utf8CodeUnitCount
        for index in 0..<starts.count {
            let from = Int(starts[index])
            let to = index + 1 < starts.count ? Int(starts[index + 1]) : end
            starts[index] = UInt32(truncatingIfNeeded: out.count &+ blobsBefore)
            shortenReferences(UnsafeRawBufferPointer(start: out.base + from, count: to &- from), to: size)
            if blob < blobs.count, blobs[blob].position == to {
                blobs[blob].position = out.count
                blobsBefore += blobs[blob].bytes.count
                blob += 1
            }
        }
    }

    /// Moves a node to the end of the final part; the node is at or after that end.
    @inline(__always)
    private mutating func shortenReferences(_ node: UnsafeRawBufferPointer, to size: Int) {
        let marker = node[0] & 0xF0
        guard marker == PlistMarker.array || marker == PlistMarker.dictionary else { return out.append(node) }
        var at = 1
        if node[0] & 0x0F == 0x0F { at = 2 + 1 << Int(node[1] & 0x0F) }
        out.append(UnsafeRawBufferPointer(rebasing: node[..<at]))
        while at < node.count {
            number(UInt32(littleEndian: node.loadUnaligned(fromByteOffset: at, as: UInt32.self)), size)
            at &+= 4
        }
    }
}
