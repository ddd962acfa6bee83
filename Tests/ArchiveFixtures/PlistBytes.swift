/// Binary property lists put together byte by byte, as no writer of ours makes them.
enum PlistBytes {
    /// An archive whose list of objects is "$null" and those given, the first of which is the root.
    ///
    /// - Parameters:
    ///   - objects: The bytes of each, and of nodes they contain, which are numbered from 13.
    ///   - count: How many of them are objects of the archive.
    ///   - uid: The bytes of the UID of the root.
    static func archive(
        _ objects: [[UInt8]], count: Int? = nil, uid: [UInt8] = [1], offsetSize: Int = 2, referenceSize: Int = 1
    ) -> [UInt8] {
        func references(_ numbers: [Int]) -> [UInt8] { numbers.flatMap { bigEndian($0, referenceSize) } }
        let list = [11] + (0..<(count ?? objects.count)).map { 13 + $0 }
        let nodes: [[UInt8]] =
            [
                [0xD4] + references([1, 3, 5, 8, 2, 4, 6, 9]), text("$archiver"), text("NSKeyedArchiver"),
                text("$version"), [0x12, 0x00, 0x01, 0x86, 0xA0], text("$top"), [0xD1] + references([7, 10]),
                text("root"), text("$objects"), [0xA0 | UInt8(list.count)] + references(list),
                [0x80 | UInt8(uid.count - 1)] + uid, text("$null"), text("$class"),
            ] + objects
        return file(nodes, offsetSize, referenceSize)
    }

    static func text(_ text: String) -> [UInt8] {
        let count = UInt8(text.utf8.count)
        return (count < 15 ? [0x50 | count] : [0x5F, 0x10, count]) + Array(text.utf8)
    }

    static func bigEndian(_ number: Int, _ size: Int) -> [UInt8] {
        (0..<size).reversed().map { $0 < 8 ? UInt8(truncatingIfNeeded: number >> (8 * $0)) : 0 }
    }

    /// A property list of nodes, the first of which is the outermost.
    static func file(_ nodes: [[UInt8]], _ offsetSize: Int, _ referenceSize: Int) -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        var offsets: [UInt8] = []
        for node in nodes {
            offsets += bigEndian(bytes.count, offsetSize)
            bytes += node
        }
        let table = bytes.count
        bytes += offsets + [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)]
        return bytes + bigEndian(nodes.count, 8) + bigEndian(0, 8) + bigEndian(table, 8)
    }
}
