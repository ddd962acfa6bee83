/// A copy of a value and of all objects it leads to, made by archiving and unarchiving it in memory.
///
/// Sharing and cycles are kept within the copy. No class needs to be registered: the classes met are those allowed.
/// - Parameters:
///   - value: The value or object to copy. It is only read.
///   - limits: Bounds beyond which it throws.
/// - Returns: The copy, of the same type.
/// - Throws: What the classes' coding code throws, and `ArchiveError`.
public func deepCopy<T: Codable>(of value: T, limits: Limits = Limits()) throws -> T {
    let encoder = ObjectEncoder(limits: limits)
    let codec = ValueCodec<T>.of(T.self)
    try encoder.encodeTop(value, codec)
    try encoder.finish()
    let owner = CopiedBytes(encoder)
    let decoder = try ObjectDecoder(
        bytes: owner.bytes, owner: owner, shapes: encoder.shapes, limits: limits, classes: encoder.classesMet())
    return try decoder.decodeTop(codec)
}

private final class CopiedBytes {
    let bytes: UnsafeRawBufferPointer

    init(_ encoder: ObjectEncoder) {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: encoder.byteCount, alignment: 16)
        encoder.copyBytes(to: memory)
        bytes = UnsafeRawBufferPointer(memory)
    }

    deinit { bytes.deallocate() }
}

extension ObjectEncoder {
    /// The classes of the objects met, under the names they were written with.
    func classesMet() -> ClassRegistry {
        var registry = ClassRegistry()
        for object in state.pointee.objects {
            switch object {
            case .coding(let object):
                registry.setClass(
                    type(of: object), forName: record(for: type(of: object), kind: .object).takeUnretainedValue().name)
            case .plain(let object):
                if let type = type(of: object) as? any (AnyObject & Decodable).Type {
                    registry.setClass(type, forName: unqualifiedName(of: type))
                }
            }
        }
        return registry
    }
}
