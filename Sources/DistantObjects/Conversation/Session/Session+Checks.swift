import KeyedArchive
import PortTransport

// What is checked of each message: of a message of this side before it is sent, because a mistake of this side must not end the
// connection, and of a message of the peer when it is entered.
extension Session {
    mutating func checkOpen(_ message: OutboundMessage, _ host: Host) throws {
        if !isOpen { throw ConnectionError(.closed, closedError().message, context: message.name) }
        if message.mayBeTooLarge { try checkSize(of: message, host) }
    }

    /// Checks that the header and tables fit in an opener, and the whole message in the peer's limit, and that the peer
    /// knows what the message refers to.
    mutating func checkSize(of message: OutboundMessage, _ host: Host) throws {
        let encoder = message.encoder
        if encoder.externalCount > 0 { try checkOwners(of: message, host) }
        guard message.name.utf8.count <= ProtocolLimits.nameBytes else {
            throw ConnectionError(
                .noSuchMessage, "the name of a message has at most \(ProtocolLimits.nameBytes) bytes",
                context: message.name.cut(toBytes: 64))
        }
        guard encoder.externalCount <= ProtocolLimits.referencesInMessage else {
            throw ConnectionError(
                .tooLarge,
                "a message carries at most \(ProtocolLimits.referencesInMessage) references, this one has \(encoder.externalCount)",
                context: message.name)
        }
        if streams.outgoingCount + encoder.externalCount > limits.streams { try checkStreams(of: message) }
        // One export is the connection's own: the root directory.
        let exported = references.exportCount
        if exported + encoder.externalCount >= limits.exports {
            let fresh = encoder.externals.count { object in
                if case .own = host.entry(of: object) { !references.isExported(object) } else { false }
            }
            guard exported + fresh < limits.exports else {
                throw ConnectionError(
                    .overloaded,
                    "the peer refers to \(exported) objects of this process; more than \(limits.exports - 1) are not allowed",
                    context: message.name)
            }
        }
        // The entry of a blob takes more bytes than that of an object.
        var tables = message.name.utf8.count + encoder.externalCount * (memory.blobs == nil ? 11 : 20)
        encoder.forEachShape { tables += $0.definition.count + 5 }
        guard encoder.shapeCount <= ProtocolLimits.shapesInMessage, tables <= ProtocolLimits.openerBytes else {
            throw ConnectionError(
                .tooLarge, "the classes of this message have too many and too long keys for one message",
                context: message.name)
        }
        guard UInt64(encoder.byteCount) <= handshake.grants.message else {
            throw ConnectionError(
                .tooLarge,
                "the message has \(encoder.byteCount) bytes; the peer takes at most \(handshake.grants.message)",
                context: message.name)
        }
    }

    private mutating func checkStreams(of message: OutboundMessage) throws {
        let fresh = message.encoder.externals.count { $0 is StreamSource }
        guard fresh == 0 || streams.outgoingCount + fresh <= limits.streams else {
            throw ConnectionError(
                .overloaded,
                "the peer has \(streams.outgoingCount) open streams of this process; more than \(limits.streams) are not allowed",
                context: message.name)
        }
    }

    /// Checks that the peer knows what the message refers to.
    ///
    /// The types that are sent by reference make the same check while they are encoded. This check does not rely on
    /// them.
    private mutating func checkOwners(of message: OutboundMessage, _ host: Host) throws {
        for object in message.encoder.externals {
            switch host.entry(of: object) {
            case .foreign: throw ConnectionError.foreign(message.name)
            case .own:
                if let bytes = (object as? SharedBlob)?.bytes, !memory.mayMention(bytes) {
                    throw ConnectionError.foreign(message.name)
                }
            case .proxy, .stream: break
            }
        }
    }

    // MARK: Messages of the peer

    /// Checks that a whole message, or the opener of a message in fragments, has the right size.
    @inline(__always)
    mutating func checkBody(
        of frame: borrowing InboundFrame, _ reader: WireReader, _ tables: MessageTables?,
        _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        if frame.messageLength == nil, reader.remaining <= limits.message { return }
        try checkOpener(reader, isWhole: frame.messageLength == nil, tables, &actions)
    }

    @inline(never)
    private func checkOpener(
        _ reader: WireReader, isWhole: Bool, _ tables: MessageTables?, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        do throws(ProtocolViolation) {
            if isWhole {
                throw ProtocolViolation(.overLimit, "a message is larger than the \(limits.message) bytes granted")
            }
            // The opener of a message in fragments ends with the tables.
            try reader.end()
        } catch {
            if let tables { actions.append(.release(tables)) }
            throw error
        }
    }
}
