import KeyedArchive

/// The table of shapes of a message, as the bytes of the frame.
///
/// It was checked when the frame was entered. Its shapes are read when the message is decoded.
struct PackedShapes: Sendable {
    private let bytes: [UInt8]
    /// The bytes instead, of a table that fits here, as most do: it takes no memory of its own.
    private let few: UInt64
    let byteCount: Int
    /// The number that the first shape got which the message has interned.
    private let firstNew: UInt32
    /// The interned shapes; nil if there are no shapes.
    private let interned: ReceivedShapes?

    static let none = PackedShapes(bytes: .init(start: nil, count: 0), firstNew: 0, interned: nil)

    private init(bytes: UnsafeRawBufferPointer, firstNew: UInt32, interned: ReceivedShapes?) {
        byteCount = bytes.count
        var few: UInt64 = 0
        if byteCount <= MemoryLayout<UInt64>.size {
            withUnsafeMutableBytes(of: &few) { $0.copyBytes(from: bytes) }
            self.bytes = []
        } else {
            self.bytes = Array(bytes)
        }
        self.few = few
        self.firstNew = firstNew
        self.interned = interned
    }

    /// Checks a table and interns its new shapes.
    ///
    /// - Parameters:
    ///   - reader: The frame, which is read to the end of the table.
    ///   - interned: The shapes of the connection.
    /// - Returns: The table, and the error of the first shape in it that cannot be read.
    static func enter(
        _ reader: inout WireReader, _ interned: ReceivedShapes
    ) throws(ProtocolViolation) -> (PackedShapes, ArchiveError?) {
        let start = reader.offset
        let firstNew = UInt32(interned.count)
        var fault: ArchiveError?
        let count = try reader.count(minimum: 1)
        guard count <= ProtocolLimits.shapesInMessage else {
            throw ProtocolViolation(.overLimit, "a message has more than \(ProtocolLimits.shapesInMessage) shapes")
        }
        for _ in 0..<count {
            let reference = try reader.number()
            guard reference < 2 else {
                let error = try interned.check(reference - 2)
                fault = fault ?? error
                continue
            }
            let definition = try reader.raw(reader.count(minimum: 1))
            if reference == 0 {
                let error = try interned.append(definition)
                fault = fault ?? error
            } else if fault == nil, case .failure(let error) = interned.parse(definition) {
                fault = error
            }
        }
        return (PackedShapes(bytes: reader.bytes(from: start), firstNew: firstNew, interned: interned), fault)
    }

    var isEmpty: Bool { interned == nil }

    /// Makes the shapes.
    ///
    /// - Throws: `ArchiveError` if one cannot be read.
    func read() throws -> [Shape] {
        guard let interned else { return [] }
        return try withBytes { bytes in
            var reader = WireReader(bytes)
            let count = try reader.count(minimum: 1)
            var shapes: [Shape] = []
            shapes.reserveCapacity(count)
            var new = firstNew
            for _ in 0..<count {
                let reference = try reader.number()
                guard reference < 2 else {
                    shapes.append(try interned.shape(UInt32(reference - 2)).get())
                    continue
                }
                let definition = try reader.raw(reader.count(minimum: 1))
                if reference == 0 {
                    shapes.append(try interned.shape(new).get())
                    new += 1
                } else {
                    shapes.append(try interned.parse(definition).get())
                }
            }
            return shapes
        }
    }

    private func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        guard bytes.isEmpty else { return try bytes.withUnsafeBytes(body) }
        return try withUnsafeBytes(of: few) { try body(UnsafeRawBufferPointer(rebasing: $0[..<byteCount])) }
    }
}
