import PortTransport
import Synchronization

extension PortState {
    /// How far both parties are on their way from the socket to memory they share.
    enum Sharing {
        /// One of them does not, or cannot.
        case never
        case possible
        /// We have asked the other to make the memory.
        case asked
        /// It was made, and our frames go through it, or will once the other's do.
        case agreed
        /// Frames go through it both ways.
        case done
    }

    /// The initiator has received another bunch of messages: asks for memory if they came fast.
    mutating func noteTraffic(for connection: Connection) {
        guard sharing == .possible, phase == .open, !goodbyeSent else { return }
        guard grants.features & ProtocolLimits.sharesMemory != 0, Self.isTrusted(connection.channel) else {
            sharing = .never
            return
        }
        let now = connection.loop.now
        defer { trafficSeenAt = now }
        guard now &- trafficSeenAt <= busy.nanoseconds else { return }
        sharing = .asked
        connection.channel.expectPath()
        prefix.reset()
        append(.share, flags: ShareStep.ask.rawValue, to: connection.channel)
    }

    mutating func receiveShare(
        _ reader: inout WireReader, _ frame: borrowing InboundFrame, for connection: Connection
    ) throws(ProtocolViolation) {
        guard let step = ShareStep(rawValue: frame.flags) else {
            throw ProtocolViolation(.malformed, "a Share has the unknown flags \(frame.flags)")
        }
        try reader.end()
        guard sharing != .never, grants.features & ProtocolLimits.sharesMemory != 0 else {
            throw ProtocolViolation(.unknownName, "a Share needs a feature that was not agreed on")
        }
        switch (step, connection.isInitiator, sharing) {
        case (.ask, false, .possible):
            give(to: connection.channel)
        case (.give, true, .asked):
            try take(frame.descriptors, on: connection.channel)
        case (.move, true, .agreed):
            sharing = .done
            connection.channel.moveInput()
        case (.move, false, .agreed) where connection.channel.hasPath:
            sharing = .done
            connection.channel.moveInput()
            move(on: connection.channel)
        case (.decline, false, .agreed):
            sharing = .never
            connection.channel.dropPath()
        default:
            throw ProtocolViolation(.outOfStep, "a Share says \(step) out of its turn")
        }
    }

    /// Whether the peer is a process of the same user.
    ///
    /// Another one that had a bell could have us wait where we ring it, in ways that take some doing; this one could stop
    /// us anyway.
    private static func isTrusted(_ channel: Channel) -> Bool { channel.peer?.isOfThisUser == true }

    /// Makes the memory, or says that there is none to be had.
    private mutating func give(to channel: Channel) {
        // Nothing is sent behind a goodbye.
        let descriptors = !goodbyeSent && Self.isTrusted(channel) ? channel.makePath() : nil
        sharing = descriptors == nil ? .never : .agreed
        guard !goodbyeSent else { return }
        prefix.reset()
        sent += 1
        channel.enqueuePath(
            kind: FrameKind.share.rawValue, flags: ShareStep.give.rawValue, prefix: prefix.bytes,
            descriptors: descriptors ?? [])
    }

    private mutating func take(_ descriptors: [CInt], on channel: Channel) throws(ProtocolViolation) {
        sharing = .never
        let wasLost: Bool
        let isTaken: Bool
        do {
            wasLost = try channel.expectPathNoLonger()
            isTaken = descriptors.isEmpty || goodbyeSent ? false : try channel.takePath(descriptors)
        } catch {
            throw ProtocolViolation(.malformed, error.message)
        }
        if isTaken {
            sharing = .agreed
            move(on: channel)
        } else if wasLost || !descriptors.isEmpty {
            decline(on: channel)
        }
    }

    /// This process has no descriptor left for the memory, say; its maker need not keep it.
    private mutating func decline(on channel: Channel) {
        guard !goodbyeSent, grants.features & ProtocolLimits.knowsDecline != 0 else { return }
        prefix.reset()
        append(.share, flags: ShareStep.decline.rawValue, to: channel)
    }

    /// The last frame on the socket.
    private mutating func move(on channel: Channel) {
        guard !goodbyeSent else { return }
        prefix.reset()
        sent += 1
        channel.enqueueLast(kind: FrameKind.share.rawValue, flags: ShareStep.move.rawValue, prefix: prefix.bytes)
    }
}

extension Connection {
    /// Whether messages go both ways through memory shared with the other process; see `Configuration.sharesMemory`.
    public var isInSharedMemory: Bool { state.withLock { $0.sharing == .done } }
}
