/// Numbers stored seven bits to a byte, lowest first; the top bit says that more bytes follow.
///
/// Archives and frames store them alike. Most have one byte, so that readers and writers look at that case themselves where
/// they cannot call this inline.
package enum Varint {
    /// Why no number was read.
    package enum Fault: Error {
        /// The bytes end within it.
        case cutOff
        /// It has more than 64 bits.
        case tooLarge
    }

    /// The most bytes of a number.
    package static let longest = 10

    /// Reads a number.
    ///
    /// - Parameters:
    ///   - base: The bytes that contain it.
    ///   - position: Where it begins; afterwards, where it ends.
    ///   - end: The end of the bytes.
    /// - Throws: `Fault` if it is cut off, or has more than 64 bits.
    package static func read(
        _ base: UnsafeRawPointer, at position: inout Int, end: Int
    ) throws(Fault) -> UInt64 {
        var result: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            guard position < end else { throw .cutOff }
            let next = base.load(fromByteOffset: position, as: UInt8.self)
            position &+= 1
            // The tenth byte has only one bit left.
            guard shift < 63 || next < 2 else { throw .tooLarge }
            result |= UInt64(next & 0x7F) << shift
            if next < 0x80 { return result }
            shift += 7
        }
    }

    /// Reads a number.
    ///
    /// - Parameters:
    ///   - bytes: The bytes that contain it.
    ///   - position: Where it begins; afterwards, where it ends.
    /// - Throws: `Fault` if it is cut off, or has more than 64 bits.
    package static func read(_ bytes: [UInt8], at position: inout Int) throws -> UInt64 {
        try bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { throw Fault.cutOff }
            return try read(base, at: &position, end: bytes.count)
        }
    }

    /// Writes a number where there is room for the longest.
    ///
    /// - Returns: How many bytes it has.
    @inline(__always)
    static func write(_ value: UInt64, to place: UnsafeMutableRawPointer) -> Int {
        var value = value
        var count = 0
        while value >= 0x80 {
            place.storeBytes(of: UInt8(truncatingIfNeeded: value) | 0x80, toByteOffset: count, as: UInt8.self)
            count &+= 1
            value >>= 7
        }
        place.storeBytes(of: UInt8(truncatingIfNeeded: value), toByteOffset: count, as: UInt8.self)
        return count &+ 1
    }

    /// Writes a number in exactly `width` bytes, which is a valid form of any number that fits.
    static func write(_ value: UInt64, padding width: Int, to place: UnsafeMutableRawPointer) {
        for index in 0..<width {
            let more: UInt8 = index == width - 1 ? 0 : 0x80
            let group = UInt8(truncatingIfNeeded: value >> (7 * UInt64(index))) & 0x7F
            place.storeBytes(of: group | more, toByteOffset: index, as: UInt8.self)
        }
    }
}
