/// Keys as archives store them.
///
/// A user's key that begins with "$" gets another "$" in front, which distinguishes it from the format's own keys, such
/// as "$class" and "$0".
enum StoredKey {
    private static let mark = UInt8(ascii: "$")

    @inline(__always)
    static func isReserved(_ key: String) -> Bool { key.utf8.first == mark }

    static func isEscaped(_ stored: String) -> Bool { stored.utf8.starts(with: [mark, mark]) }

    @inline(__always)
    static func escaped(_ key: String) -> String { isReserved(key) ? "$" + key : key }

    static func unescaped(_ stored: String) -> String {
        isEscaped(stored) ? String(stored.dropFirst()) : stored
    }

    /// The key of the value encoded without key at a position.
    static func unkeyed(_ position: Int) -> String { "$\(position)" }

    /// The position of a value encoded without key; nil for all other keys.
    static func position(_ stored: String) -> Int? {
        guard isReserved(stored), stored.utf8.count <= 12 else { return nil }
        let digits = stored.dropFirst()
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int(digits)
    }
}
