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
package struct ByteSink {
    /// The memory; while there is none, a stand-in for its address.
    package private(set) var base = Self.none
    package var count = 0
    package private(set) var capacity = 0

    private static var none: UnsafeMutableRawPointer { UnsafeMutableRawPointer(bitPattern: 16).unsafelyUnwrapped }

    /// - Parameter capacity: The bytes to have memory for; if 0, there is none until some are written.
    package init(capacity: Int = 256) {
        if capacity > 0 { grow(to: capacity) }
    }

    package func deallocate() {
        if capacity > 0 { free(base) }
    }

    /// Allocates memory, or moves the content to larger memory.
    ///
    /// For large memory the system remaps pages instead of copying them: growing does not need twice the memory.
    private mutating func grow(to size: Int) {
        guard let memory = realloc(capacity > 0 ? base : nil, size) else { fatalError("no memory for \(size) bytes") }
        base = memory
        capacity = size
    }

    /// Whether the memory is small enough to keep in any case.
    var isSmall: Bool { capacity <= Self.small }

    private static let small = 4096
    /// With the allocator's header two words more.
    private static let smallest = 24

    /// The bytes written.
    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    @inline(__always)
    mutating func reserve(_ more: Int) {
        if capacity &- count < more { grow(more) }
    }

    @inline(never)
    private mutating func grow(_ more: Int) {
        grow(to: max(Self.smallest, capacity * 2, count + more))
    }

    /// Empties the sink, and frees memory that was hardly used or is more than `most`.
    mutating func reset(most: Int) {
        let isRoomy = !isSmall && (count < capacity / 8 || capacity > most)
        count = 0
        if isRoomy { self = replacement(capacity: 256) }
    }

    /// Empties the sink, and frees memory of more than `most` bytes.
    @inline(__always)
    package mutating func reset(keeping most: Int) {
        count = 0
        if capacity > most { self = replacement(capacity: 0) }
    }

    /// Frees the memory, and returns a sink to take the place of this one.
    @inline(never)
    private func replacement(capacity: Int) -> ByteSink {
        deallocate()
        return ByteSink(capacity: capacity)
    }

    @inline(__always)
    package mutating func byte(_ byte: UInt8) {
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
    package mutating func varint(_ value: UInt64) {
        reserve(Varint.longest)
        count &+= Varint.write(value, to: base + count)
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
        Varint.write(UInt64(truncatingIfNeeded: value), padding: Self.paddedWidth, to: base + position)
    }

    @inline(__always)
    mutating func patch<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, at position: Int) {
        base.storeBytes(of: value.littleEndian, toByteOffset: position, as: T.self)
    }

    /// Inserts bytes.
    mutating func insert(_ bytes: UnsafeRawBufferPointer, at position: Int) {
        guard let start = bytes.baseAddress, bytes.count > 0 else { return }
        reserve(bytes.count)
        (base + position + bytes.count).copyMemory(from: base + position, byteCount: count - position)
        (base + position).copyMemory(from: start, byteCount: bytes.count)
        count &+= bytes.count
    }

    /// Removes bytes.
    mutating func remove(_ range: Range<Int>) {
        (base + range.lowerBound).copyMemory(from: base + range.upperBound, byteCount: count - range.upperBound)
        count &-= range.count
    }

    @inline(__always)
    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress, bytes.count > 0 else { return }
        reserve(bytes.count)
        (base + count).copyMemory(from: start, byteCount: bytes.count)
        count &+= bytes.count
    }
}
