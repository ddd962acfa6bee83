import KeyedArchive
import Synchronization

/// The shapes to which the peer has given numbers.
///
/// They are kept as the bytes of their definitions: a shape with its keys takes up to thirty times as much memory, and an idle
/// connection would keep that. Those used of late are kept as shapes, too, in two generations of a bounded size. A shape that is
/// used moves to the new one; if that is full, it becomes the old one, whose shapes are dropped.
///
/// Its lock comes last in every order of locks.
final class ReceivedShapes: Sendable {
    private struct Content {
        var definitions: [UInt8] = []
        /// Where each definition ends.
        var ends: [UInt32] = []
        /// The numbers of definitions that cannot be read.
        var unreadable: Set<UInt32> = []
        var new: [UInt32: Shape] = [:]
        var old: [UInt32: Shape] = [:]
        /// The bytes of memory that the new generation takes, about.
        var newBytes = 0

        /// Adds a shape to the new generation, which becomes the old one if it is full.
        mutating func keep(_ shape: Shape, _ number: UInt32) {
            // The definition, each key twice, and its place in the table of positions.
            let size = 320 + 2 * shape.definition.count + 128 * shape.keyCount
            if newBytes + size > generationBytes { (old, new, newBytes) = (new, [:], 0) }
            new[number] = shape
            newBytes += size
        }
    }

    private let content = Mutex(Content())
    private let limits: ArchiveLimits

    /// The bytes of memory that one generation takes, about.
    private static let generationBytes = 256 << 10

    init(_ limits: ArchiveLimits) { self.limits = limits }

    /// The number of shapes.
    var count: Int { content.withLock { $0.ends.count } }

    /// Gives the next number to a shape.
    ///
    /// A definition that cannot be read takes its number, too; a message that uses it is refused.
    ///
    /// - Returns: The error of a definition that cannot be read.
    func append(_ definition: UnsafeRawBufferPointer) throws(ProtocolViolation) -> ArchiveError? {
        let parsed = parse(definition)
        let hasRoom = content.withLock { content in
            guard content.ends.count < ProtocolLimits.interned,
                content.definitions.count + definition.count <= ProtocolLimits.internedBytes
            else { return false }
            let number = UInt32(content.ends.count)
            content.definitions.append(contentsOf: definition)
            content.ends.append(UInt32(content.definitions.count))
            switch parsed {
            case .success(let shape): content.keep(shape, number)
            case .failure: content.unreadable.insert(number)
            }
            return true
        }
        guard hasRoom else {
            throw ProtocolViolation(.overLimit, "more names, shapes or classes are interned than the protocol allows")
        }
        if case .failure(let error) = parsed { return error }
        return nil
    }

    /// Checks that a number was given.
    ///
    /// - Returns: The error if its definition cannot be read.
    func check(_ number: UInt64) throws(ProtocolViolation) -> ArchiveError? {
        let (isKnown, isReadable) = content.withLock { content in
            (number < UInt64(content.ends.count), !content.unreadable.contains(UInt32(truncatingIfNeeded: number)))
        }
        guard isKnown else { throw ProtocolViolation(.unknownName, "a name, shape or class was never given") }
        guard !isReadable, case .failure(let error) = shape(UInt32(number)) else { return nil }
        return error
    }

    /// The shape with a number that was given.
    func shape(_ number: UInt32) -> Result<Shape, ArchiveError> {
        content.withLock { content in
            if let shape = content.new[number] { return .success(shape) }
            if let shape = content.old[number] {
                content.keep(shape, number)
                return .success(shape)
            }
            let start = number == 0 ? 0 : Int(content.ends[Int(number) - 1])
            let parsed = content.definitions.withUnsafeBytes { bytes in
                parse(UnsafeRawBufferPointer(rebasing: bytes[start..<Int(content.ends[Int(number)])]))
            }
            if case .success(let shape) = parsed { content.keep(shape, number) }
            return parsed
        }
    }

    /// Reads a definition.
    func parse(_ definition: UnsafeRawBufferPointer) -> Result<Shape, ArchiveError> {
        do {
            var offset = 0
            let shape = try Shape.parse(definition, at: &offset, limits: limits)
            guard offset == definition.count else {
                throw ArchiveError(.corrupt, "a class shape is longer than its content")
            }
            return .success(shape)
        } catch {
            return .failure(error as? ArchiveError ?? ArchiveError(.corrupt, "a class shape cannot be read"))
        }
    }
}
