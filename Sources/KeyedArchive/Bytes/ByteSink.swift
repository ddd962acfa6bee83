#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A growing buffer of bytes that its owner deallocates: no reference counting, no bounds checks.
struct ByteSink {
    private(set) var base: UnsafeMutableRawPointer
    var count = 0
    private(set) var capacity: Int

    init(capacity: Int = 256) {
        self.capacity = capacity
        base = Self.allocate(nil, capacity)
    }

    func deallocate() { free(base) }

    /// Allocates memory, or moves the content of `old` to memory of another size.
    ///
    /// For large memory the system remaps pages instead of copying them: growing does not need twice the memory.
    private static func allocate(_ old: UnsafeMutableRawPointer?, _ size: Int) -> UnsafeMutableRawPointer {
        guard let memory = realloc(old, max(size, 1)) else { fatalError("no memory for \(size) bytes") }
        return memory
    }

    /// Whether the memory is small enough to keep in any case.
    var isSmall: Bool { capacity <= Self.small }

    private static let small = 4096

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    @inline(__always)
    mutating func reserve(_ more: Int) {
        if capacity &- count < more { grow(more) }
    }

    @inline(never)
    private mutating func grow(_ more: Int) {
        let larger = max(capacity * 2, count + more)
        base = Self.allocate(base, larger)
        capacity = larger
    }

    /// Empties the sink, and frees memory that was hardly used or is more than `most`.
    mutating func reset(most: Int) {
        let isRoomy = !isSmall && (count < capacity / 8 || capacity > most)
        count = 0
        if isRoomy {
            deallocate()
            capacity = 256
            base = Self.allocate(nil, capacity)
        }
    }

    @inline(__always)
    mutating func byte(_ byte: UInt8) {
        reserve(1)
        base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count &+= 1
    }

    @inline(__always)
    mutating func fixed<T: FixedWidthInteger & BitwiseCopyable>(_ value: T) {
        reserve(MemoryLayout<T>.size)
        base.storeBytes(of: value.littleEndian, toByteOffset: count, as: T.self)
        count &+= MemoryLayout<T>.size
    }

    @inline(__always)
    mutating func varint(_ value: UInt64) {
        reserve(10)
        var value = value
        var at = count
        while value >= 0x80 {
            base.storeBytes(of: UInt8(truncatingIfNeeded: value) | 0x80, toByteOffset: at, as: UInt8.self)
            at &+= 1
            value >>= 7
        }
        base.storeBytes(of: UInt8(truncatingIfNeeded: value), toByteOffset: at, as: UInt8.self)
        count = at &+ 1
    }

    @inline(__always)
    mutating func zigzag(_ value: Int64) { varint(UInt64(bitPattern: (value << 1) ^ (value >> 63))) }

    /// The width of a count that is patched later: a padded varint.
    static let paddedWidth = 5

    @inline(__always)
    mutating func paddedVarint() {
        reserve(Self.paddedWidth)
        count &+= Self.paddedWidth
    }

    mutating func patchPadded(_ value: Int, at position: Int) {
        var value = UInt64(truncatingIfNeeded: value)
        for index in 0..<Self.paddedWidth {
            let more: UInt8 = index == Self.paddedWidth - 1 ? 0 : 0x80
            base.storeBytes(of: UInt8(value & 0x7F) | more, toByteOffset: position + index, as: UInt8.self)
            value >>= 7
        }
    }

    @inline(__always)
    mutating func patch<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, at position: Int) {
        base.storeBytes(of: value.littleEndian, toByteOffset: position, as: T.self)
    }

    @inline(__always)
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress, bytes.count > 0 else { return }
        reserve(bytes.count)
        (base + count).copyMemory(from: start, byteCount: bytes.count)
        count &+= bytes.count
    }
}
