import KeyedArchive

// What is checked before a message is sent: a mistake of this side must not end the connection.
extension Conversation {
    /// Whether messages may be sent.
    var isOpen: Bool {
        @inline(__always) mutating get { phase == .open && !outbox.isClosed && !ending.peerSaidGoodbye }
    }

    /// Why no message may be sent now; `nil` if it may.
    var whyClosed: ConnectionError? {
        mutating get { isOpen ? nil : closedError() }
    }

    private mutating func closedError() -> ConnectionError {
        switch phase {
        case .open where !outbox.isClosed:
            ConnectionError(.closed, "the peer is closing the connection; the call was not sent")
        case .handshake:
            ConnectionError(.closed, "the connection is not open yet")
        case .closing:
            ConnectionError(.closed, "the connection is closing; the call was not sent")
        case .open, .ending, .ended:
            ConnectionError(.closed, "the connection has ended; the call was not sent")
        }
    }

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
        if exportCount + encoder.externalCount >= limits.exports {
            let fresh = encoder.externals.count { object in
                if case .own = host.entry(of: object) { !exports.contains(object) } else { false }
            }
            guard exportCount + fresh < limits.exports else {
                throw ConnectionError(
                    .overloaded,
                    "the peer refers to \(exportCount) objects of this process; more than \(limits.exports - 1) are not allowed",
                    context: message.name)
            }
        }
        // The entry of a blob takes more bytes than that of an object.
        var tables = message.name.utf8.count + encoder.externalCount * (blobs == nil ? 11 : 20)
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
                if let bytes = (object as? SharedBlob)?.bytes, !mayMention(bytes) {
                    throw ConnectionError.foreign(message.name)
                }
            case .proxy, .stream: break
            }
        }
    }
}
