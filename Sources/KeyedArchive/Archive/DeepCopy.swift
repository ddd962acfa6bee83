extension KeyedArchiver {
    /// Copies a value and all objects reachable from it, by archiving and unarchiving it in memory.
    ///
    /// The copy keeps sharing and cycles. No class needs to be registered: all classes found in the value are allowed.
    /// - Parameters:
    ///   - value: The value or object to copy. It is only read.
    ///   - limits: Bounds beyond which copying throws.
    /// - Returns: The copy, of the same type. It shares nothing with the value and may go to another task or actor.
    /// - Throws: What the classes' coding code throws, and `ArchiveError`.
    /// - Complexity: Linear in the size of the archive.
    public static func deepCopy<T: Codable>(of value: T, limits: ArchiveLimits = ArchiveLimits()) throws -> sending T {
        let encoder = ObjectEncoder(limits: limits)
        try encoder.encodeTop(value, ValueCodec<T>.of(T.self))
        try encoder.finish()
        let bytes = CopiedBytes(encoder)
        return try copy(of: bytes, encoder.shapes, limits, encoder.classesMet())
    }

    /// Decodes the copy in a separate function, which shows the compiler that it shares nothing with the encoder.
    private static func copy<T: Codable>(
        of bytes: CopiedBytes, _ shapes: [Shape], _ limits: ArchiveLimits, _ classes: ClassRegistry
    ) throws -> sending T {
        let decoder = try ObjectDecoder(
            bytes: bytes.bytes, owner: bytes, shapes: shapes, limits: limits, classes: classes)
        return try decoder.decodeTop(ValueCodec<T>.of(T.self))
    }
}

// The bytes are written in `init`, before the object is shared, and only read afterwards.
private final class CopiedBytes: @unchecked Sendable {  // Written once, before it is shared.
    let bytes: UnsafeRawBufferPointer

    init(_ encoder: ObjectEncoder) {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: encoder.byteCount, alignment: 16)
        encoder.copyBytes(to: memory)
        bytes = UnsafeRawBufferPointer(memory)
    }

    deinit { bytes.deallocate() }
}

extension ObjectEncoder {
    /// The classes of the encoded objects, by the names they were written with.
    func classesMet() -> ClassRegistry {
        var registry = ClassRegistry()
        tables.objects.forEach { kind, object in
            switch kind {
            case .coding:
                guard let type = type(of: object) as? any ObjectCoding.Type else { return }
                registry.setClass(type, forName: record(for: type, kind: .object).takeUnretainedValue().name)
            case .plain:
                guard let type = type(of: object) as? any (AnyObject & Decodable).Type else { return }
                registry.setClass(type, forName: unqualifiedName(of: type))
            }
        }
        return registry
    }
}
