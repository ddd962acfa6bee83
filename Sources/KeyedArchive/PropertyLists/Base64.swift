/// Bytes as text in base 64.
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let space: UInt8 = 0xFE
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 0xFF, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        for character in [0x20, 0x09, 0x0A, 0x0D] { values[character] = space }
        return values
    }()

    /// Appends the bytes of a base 64 text, ignoring spaces and line ends; false if it has other characters.
    static func decode(_ text: UnsafeRawBufferPointer, into sink: inout ByteSink) -> Bool {
        let most = text.count / 4 * 3 + 3
        sink.reserve(most)
        let start = (sink.base + sink.count).assumingMemoryBound(to: UInt8.self)
        let target = UnsafeMutableBufferPointer(start: start, count: most)
        var count = 0
        let isValid = values.withUnsafeBufferPointer { decode(text, $0, target, &count) }
        if isValid { sink.count += count }
        return isValid
    }

    private static func decode(
        _ text: UnsafeRawBufferPointer, _ values: UnsafeBufferPointer<UInt8>,
        _ target: UnsafeMutableBufferPointer<UInt8>,
        _ count: inout Int
    ) -> Bool {
        var group: UInt32 = 0
        var digits = 0
        var padding = 0
        for character in text {
            let value = values[Int(character)]
            if value == space { continue }
            if character == UInt8(ascii: "=") {
                padding += 1
                continue
            }
            guard value < 64, padding == 0 else { return false }
            group = group << 6 | UInt32(value)
            digits &+= 1
            if digits == 4 {
                target[count] = UInt8(truncatingIfNeeded: group >> 16)
                target[count &+ 1] = UInt8(truncatingIfNeeded: group >> 8)
                target[count &+ 2] = UInt8(truncatingIfNeeded: group)
                count &+= 3
                group = 0
                digits = 0
            }
        }
        guard digits != 1, padding <= 2 else { return false }
        if digits >= 2 {
            target[count] = UInt8(truncatingIfNeeded: digits == 2 ? group >> 4 : group >> 10)
            count += 1
        }
        if digits == 3 {
            target[count] = UInt8(truncatingIfNeeded: group >> 2)
            count += 1
        }
        return true
    }

    /// Writes bytes as base 64.
    static func encode(_ bytes: UnsafeRawBufferPointer, into sink: inout ByteSink) {
        sink.reserve((bytes.count + 2) / 3 * 4)
        alphabet.withUnsafeBufferPointer { alphabet in
            var at = 0
            while at < bytes.count {
                let left = bytes.count &- at
                let group =
                    UInt32(bytes[at]) << 16 | (left > 1 ? UInt32(bytes[at &+ 1]) << 8 : 0)
                    | (left > 2 ? UInt32(bytes[at &+ 2]) : 0)
                sink.byte(alphabet[Int(group >> 18)])
                sink.byte(alphabet[Int(group >> 12 & 63)])
                sink.byte(left > 1 ? alphabet[Int(group >> 6 & 63)] : UInt8(ascii: "="))
                sink.byte(left > 2 ? alphabet[Int(group & 63)] : UInt8(ascii: "="))
                at &+= 3
            }
        }
    }
}
