#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension PlistBuilder {
    static let mostUnique = 256
    static let mostProbes = 16

    /// The number of an existing equal node, after removing the new node's bytes; otherwise the new node's number.
    @inline(__always)
    mutating func unique(_ number: UInt32) -> UInt32 {
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
    func isEqual(_ other: Int, _ start: Int, _ length: Int) -> Bool {
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
    func hash(_ start: Int, _ length: Int) -> UInt64 {
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
    static func mix(_ value: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        return product.high ^ product.low
    }

    mutating func growTable() {
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
}
