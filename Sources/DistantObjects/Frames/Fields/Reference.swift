/// An entry of a message's table of references.
enum Reference {
    /// An object of the receiver.
    case receivers(ObjectID)
    /// An object of the sender.
    case senders(ObjectID)
    /// An object of the sender. Its class follows, a `ClassEntry`.
    case described(ObjectID)
    /// The answer of the receiver to an earlier question of the sender.
    case answer(UInt32)
    /// A stream of the sender, or one of the numbers that say why there is none.
    case stream(UInt64)
    /// A stream of the receiver, which comes back unread.
    case returnedStream(UInt32)
    /// Bytes in a region that the sender has made.
    case bytes(region: UInt64, offset: UInt64, count: UInt64)
    /// Bytes in a region that the receiver has made.
    case returnedBytes(region: UInt64, offset: UInt64, count: UInt64)

    private enum Kind: UInt8 {
        case receivers = 0, senders = 1, described = 2, answer = 3, stream = 4, returnedStream = 5, bytes = 6
        case returnedBytes = 7
    }

    /// The fewest bytes of an entry.
    static let smallest = 2

    @inline(__always)
    init(reading reader: inout WireReader) throws(ProtocolViolation) {
        guard let kind = Kind(rawValue: try reader.byte()) else {
            throw ProtocolViolation(.malformed, "a reference belongs to neither side")
        }
        switch kind {
        case .receivers: self = .receivers(try reader.objectID())
        case .senders: self = .senders(try reader.objectID())
        case .described: self = .described(try reader.objectID())
        case .answer: self = .answer(try reader.number32())
        case .stream: self = .stream(UInt64(try reader.number32()))
        case .returnedStream: self = .returnedStream(try reader.number32())
        case .bytes:
            self = .bytes(region: try reader.number(), offset: try reader.number(), count: try reader.number())
        case .returnedBytes:
            self = .returnedBytes(
                region: try reader.number(), offset: try reader.number(), count: try reader.number())
        }
    }

    @inline(__always)
    func append(to outbox: inout Outbox) {
        switch self {
        case .receivers(let id): Self.append(.receivers, id, to: &outbox)
        case .senders(let id): Self.append(.senders, id, to: &outbox)
        case .described(let id): Self.append(.described, id, to: &outbox)
        case .answer(let question): Self.append(.answer, UInt64(question), to: &outbox)
        case .stream(let number): Self.append(.stream, number, to: &outbox)
        case .returnedStream(let number): Self.append(.returnedStream, UInt64(number), to: &outbox)
        case .bytes(let region, let offset, let count):
            Self.append(.bytes, region, to: &outbox)
            outbox.append(offset)
            outbox.append(count)
        case .returnedBytes(let region, let offset, let count):
            Self.append(.returnedBytes, region, to: &outbox)
            outbox.append(offset)
            outbox.append(count)
        }
    }

    @inline(__always)
    private static func append(_ kind: Kind, _ id: ObjectID, to outbox: inout Outbox) {
        outbox.append(byte: kind.rawValue)
        outbox.append(id)
    }

    private static func append(_ kind: Kind, _ number: UInt64, to outbox: inout Outbox) {
        outbox.append(byte: kind.rawValue)
        outbox.append(number)
    }
}

/// The class of an object in a table of references.
enum ClassEntry {
    case known(UInt64)
    /// The description of a class, which gets the next number.
    case new(UnsafeRawBufferPointer)

    init(reading reader: inout WireReader) throws(ProtocolViolation) {
        let reference = try reader.number()
        guard reference == 0 else {
            self = .known(reference - 1)
            return
        }
        let definition = try reader.raw(reader.count(minimum: 1))
        guard definition.count <= ProtocolLimits.descriptionBytes else {
            throw ProtocolViolation(
                .overLimit, "the description of a class is longer than \(ProtocolLimits.descriptionBytes) bytes")
        }
        self = .new(definition)
    }

    static func append(known number: UInt32, to outbox: inout Outbox) { outbox.append(UInt64(number) + 1) }

    static func append(new definition: [UInt8], to outbox: inout Outbox) {
        outbox.append(UInt64(0))
        outbox.append(definition: definition)
    }
}
