import KeyedArchive

// The tables of a message: what its archive names by number. Both are entered before the next frame is looked at.
extension PortState {
    /// The references and shapes of a message; `nil` if it has none, as most.
    mutating func readTables(
        _ reader: inout WireReader, _ connection: Connection
    ) throws(ProtocolViolation) -> MessageTables? {
        if reader.skipZeros(2) { return nil }
        let references = try readReferences(&reader, connection)
        let shapes = try readShapes(&reader)
        return references.isEmpty && shapes.isEmpty ? nil : MessageTables(references: references, shapes: shapes)
    }

    private mutating func readReferences(
        _ reader: inout WireReader, _ connection: Connection
    ) throws(ProtocolViolation) -> [AnyObject] {
        let count = try reader.count(minimum: 3)
        guard count > 0 else { return [] }
        guard count <= ProtocolLimits.referencesInMessage else {
            throw ProtocolViolation(
                .overLimit, "a message carries more than \(ProtocolLimits.referencesInMessage) references")
        }
        var references: [AnyObject] = []
        references.reserveCapacity(count)
        for _ in 0..<count {
            let owner = try reader.byte()
            let id = try reader.objectID()
            switch owner {
            case 0:
                references.append(try exports.resolve(id).object)
            case 1:
                references.append(try imports.proxy(for: id, on: connection))
            default:
                throw ProtocolViolation(.malformed, "a reference belongs to neither side")
            }
        }
        return references
    }

    private mutating func readShapes(_ reader: inout WireReader) throws(ProtocolViolation) -> [Shape] {
        let count = try reader.count(minimum: 1)
        guard count > 0 else { return [] }
        guard count <= ProtocolLimits.shapesInMessage else {
            throw ProtocolViolation(.overLimit, "a message has more than \(ProtocolLimits.shapesInMessage) shapes")
        }
        var shapes: [Shape] = []
        shapes.reserveCapacity(count)
        for _ in 0..<count {
            let reference = try reader.number()
            guard reference < 2 else {
                shapes.append(try shapesIn[reference - 2])
                continue
            }
            let definition = try reader.raw(reader.count(minimum: 1))
            let shape: Shape
            do {
                var offset = 0
                shape = try Shape.parse(definition, at: &offset, limits: limits.archive)
                guard offset == definition.count else {
                    throw ArchiveError(.corrupt, "a definition is longer than its content")
                }
            } catch {
                throw ProtocolViolation(.malformed, "a class shape cannot be read: \(error)")
            }
            if reference == 0 { try shapesIn.append(shape, taking: definition.count) }
            shapes.append(shape)
        }
        return shapes
    }
}
