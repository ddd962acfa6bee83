#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Makes a binary property list: nodes are added, content before container, and named by the numbers given out.
///
/// Nodes are written at once in their final form, except that references take four bytes until `finish`, when it is known
/// how few they need. Small scalars that are equal become one node. Big bytes stay where they are until `finish` copies
/// them, once.
struct PlistBuilder {
    typealias Number = UInt32

    private var out = ByteSink(capacity: 4096)
    /// Where each node begins in `out`.
    private var starts = ContiguousArray<UInt32>()
    /// Nodes by the hash of their bytes; open addressing, 0 is free, else the number and one.
    private var table: [UInt32]
    private var tableCount = 0
    private var blobs: [Blob] = []
    private var blobBytes = 0
    private var referenceCount = 0
    private let seed = UInt64.random(in: .min ... .max)
    private let limit: Int

    /// Makes a builder for a property list of up to `limits.bytes` bytes.
    init(limits: Limits) {
        limit = min(limits.bytes, Int(UInt32.max) >> 1)
        table = [UInt32](repeating: 0, count: 256)
    }

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

    /// An integer of any size; those of 64 bits with a sign take no more than eight bytes.
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

    /// A string whose bytes are ASCII.
    mutating func ascii(_ bytes: UnsafeRawBufferPointer) throws -> Number {
        let number = try begin()
        header(PlistMarker.ascii, bytes.count)
        out.append(bytes)
        return unique(number)
    }

    /// A string; also one whose surrogates are no pairs.
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

    /// A string whose bytes are UTF-8, which is not checked.
    mutating func string(utf8 bytes: UnsafeRawBufferPointer) throws -> Number {
        if bytes.isASCII { return try ascii(bytes) }
        return try utf16(Array(String(decoding: bytes, as: UTF8.self).utf16))
    }

    /// Bytes, which are copied.
    mutating func data(_ bytes: UnsafeRawBufferPointer) throws -> Number {
        let number = try begin()
        header(PlistMarker.data, bytes.count)
        out.append(bytes)
        return unique(number)
    }

    /// Bytes that `owner` keeps where they are; many are not copied before `finish`.
    mutating func data(_ bytes: UnsafeRawBufferPointer, owner: AnyObject) throws -> Number {
        guard bytes.count >= ObjectEncoder.smallestBlob else { return try data(bytes) }
        let number = try begin()
        header(PlistMarker.data, bytes.count)
        blobs.append(Blob(position: out.count, owner: owner, bytes: bytes))
        blobBytes += bytes.count
        guard out.count + blobBytes <= limit else { throw tooLong() }
        return number
    }

    mutating func data(_ data: Data) throws -> Number {
        guard data.count >= ObjectEncoder.smallestBlob else { return try data.withUnsafeBytes { try self.data($0) } }
        let owner = KeptData(data)
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

    /// A dictionary; `keys` are the numbers of strings, and as many as `values`.
    mutating func dictionary(_ keys: some Collection<Number>, _ values: some Collection<Number>) throws -> Number {
        let number = try begin()
        header(PlistMarker.dictionary, keys.count)
        for key in keys { out.fixed(key) }
        for value in values { out.fixed(value) }
        referenceCount += 2 * keys.count
        return number
    }

    /// A dictionary of keys and values in turn.
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

    // MARK: Equal scalars

    private static let mostUnique = 256
    private static let mostProbes = 16

    /// The number of an equal node that is there already, whose bytes are taken back; else the node itself.
    @inline(__always)
    private mutating func unique(_ number: UInt32) -> UInt32 {
        let start = Int(starts[Int(number)])
        let length = out.count &- start
        guard length <= Self.mostUnique else { return number }
        if tableCount &* 2 >= table.count { growTable() }
        let mask = table.count &- 1
        var slot = Int(truncatingIfNeeded: hash(start, length)) & mask
        for _ in 0..<Self.mostProbes {
            let entry = table[slot]
            if entry == 0 {
                table[slot] = number &+ 1
                tableCount &+= 1
                return number
            }
            if isEqual(Int(entry &- 1), start, length) {
                out.count = start
                starts.removeLast()
                return entry &- 1
            }
            slot = (slot &+ 1) & mask
        }
        return number
    }

    @inline(__always)
    private func isEqual(_ other: Int, _ start: Int, _ length: Int) -> Bool {
        // Nodes of a kind have the same length if their first bytes are the same, so no end can be overrun.
        let otherStart = Int(starts[other])
        let otherEnd = other &+ 1 < starts.count ? Int(starts[other &+ 1]) : out.count
        guard otherEnd &- otherStart == length else { return false }
        var offset = 0
        while length &- offset >= 8 {
            let a = out.base.loadUnaligned(fromByteOffset: start &+ offset, as: UInt64.self)
            let b = out.base.loadUnaligned(fromByteOffset: otherStart &+ offset, as: UInt64.self)
            if a != b { return false }
            offset &+= 8
        }
        while offset < length {
            let a = out.base.load(fromByteOffset: start &+ offset, as: UInt8.self)
            if a != out.base.load(fromByteOffset: otherStart &+ offset, as: UInt8.self) { return false }
            offset &+= 1
        }
        return true
    }

    @inline(__always)
    private func hash(_ start: Int, _ length: Int) -> UInt64 {
        var state = seed ^ UInt64(truncatingIfNeeded: length)
        var offset = start
        let end = start &+ length
        while end &- offset >= 8 {
            state = Self.mix(state ^ out.base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset &+= 8
        }
        var rest: UInt64 = 0
        while offset < end {
            rest = rest << 8 | UInt64(out.base.load(fromByteOffset: offset, as: UInt8.self))
            offset &+= 1
        }
        return Self.mix(state ^ rest)
    }

    @inline(__always)
    private static func mix(_ value: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        return product.high ^ product.low
    }

    private mutating func growTable() {
        let old = table
        table = [UInt32](repeating: 0, count: old.count * 4)
        tableCount = 0
        let mask = table.count - 1
        for entry in old where entry != 0 {
            let node = Int(entry - 1)
            let start = Int(starts[node])
            let end = node + 1 < starts.count ? Int(starts[node + 1]) : out.count
            var slot = Int(truncatingIfNeeded: hash(start, end - start)) & mask
            while table[slot] != 0 { slot = (slot + 1) & mask }
            table[slot] = entry
            tableCount += 1
        }
    }

    // MARK: The whole

    /// The property list with the node `top` outermost.
    func finish(top: Number) throws -> [UInt8] {
        let referenceSize = Self.size(for: starts.count - 1)
        let nodes = out.count + blobBytes - referenceCount * (4 - referenceSize)
        let tableStart = 8 + nodes
        let offsetSize = Self.size(for: tableStart)
        let total = tableStart + starts.count * offsetSize + 32
        guard total <= limit else { throw tooLong() }
        return [UInt8](unsafeUninitializedCapacity: total) { target, initialized in
            guard let base = target.baseAddress else { return }
            var writer = PlistAssembly(UnsafeMutableRawPointer(base), referenceSize, offsetSize, tableStart)
            var blob = 0
            for index in 0..<starts.count {
                let start = Int(starts[index])
                let end = index + 1 < starts.count ? Int(starts[index + 1]) : out.count
                writer.node(UnsafeRawBufferPointer(rebasing: out.bytes[start..<end]))
                if blob < blobs.count && blobs[blob].position == end {
                    writer.append(blobs[blob].bytes)
                    blob += 1
                }
            }
            writer.trailer(count: starts.count, top: top)
            initialized = total
        }
    }

    private static func size(for number: Int) -> Int {
        number <= 0xFF ? 1 : number <= 0xFFFF ? 2 : 4
    }
}

private final class KeptData {
    let data: Data
    init(_ data: Data) { self.data = data }
}

/// The last step of a builder: nodes with references as short as they can be, their offsets, the trailer.
private struct PlistAssembly {
    private let base: UnsafeMutableRawPointer
    private let referenceSize: Int
    private let offsetSize: Int
    private let tableStart: Int
    private var position = 8
    private var offsetPosition: Int

    init(_ base: UnsafeMutableRawPointer, _ referenceSize: Int, _ offsetSize: Int, _ tableStart: Int) {
        self.base = base
        self.referenceSize = referenceSize
        self.offsetSize = offsetSize
        self.tableStart = tableStart
        offsetPosition = tableStart
        for (index, byte) in "bplist00".utf8.enumerated() {
            base.storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
        }
    }

    @inline(__always)
    private func store(_ value: Int, _ size: Int, at position: Int) {
        switch size {
        case 1: base.storeBytes(of: UInt8(truncatingIfNeeded: value), toByteOffset: position, as: UInt8.self)
        case 2:
            base.storeBytes(
                of: UInt16(truncatingIfNeeded: value).bigEndian, toByteOffset: position, as: UInt16.self)
        default:
            base.storeBytes(
                of: UInt32(truncatingIfNeeded: value).bigEndian, toByteOffset: position, as: UInt32.self)
        }
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        (base + position).copyMemory(from: start, byteCount: bytes.count)
        position += bytes.count
    }

    @inline(__always)
    mutating func node(_ bytes: UnsafeRawBufferPointer) {
        store(position, offsetSize, at: offsetPosition)
        offsetPosition &+= offsetSize
        let marker = bytes[0] & 0xF0
        guard marker == PlistMarker.array || marker == PlistMarker.dictionary else { return append(bytes) }
        var header = 1
        if bytes[0] & 0x0F == 0x0F { header = 2 + 1 << Int(bytes[1] & 0x0F) }
        append(UnsafeRawBufferPointer(rebasing: bytes[..<header]))
        while header < bytes.count {
            let number = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: header, as: UInt32.self))
            store(Int(number), referenceSize, at: position)
            position &+= referenceSize
            header &+= 4
        }
    }

    func trailer(count: Int, top: UInt32) {
        let trailer = offsetPosition
        for index in 0..<6 { base.storeBytes(of: 0, toByteOffset: trailer + index, as: UInt8.self) }
        base.storeBytes(of: UInt8(offsetSize), toByteOffset: trailer + 6, as: UInt8.self)
        base.storeBytes(of: UInt8(referenceSize), toByteOffset: trailer + 7, as: UInt8.self)
        for (index, number) in [count, Int(top), tableStart].enumerated() {
            base.storeBytes(of: UInt64(number).bigEndian, toByteOffset: trailer + 8 + 8 * index, as: UInt64.self)
        }
    }
}
