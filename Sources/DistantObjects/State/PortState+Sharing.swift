import PortTransport

// From the socket to memory that both sides share. The channel's part is the host's to do while the frame is delivered.
extension PortState {
    /// Whether this side, which greeted first, asks for memory now: another bunch of messages has come, and came fast.
    @inline(__always)
    mutating func wantsMemory(_ host: Host) -> Bool {
        guard sharing.phase == .possible, let busy = settings.sharesMemoryWhen, entered & (busy.messages - 1) == 0
        else { return false }
        return isBusy(busy, host)
    }

    @inline(never)
    private mutating func isBusy(_ busy: BusyTraffic, _ host: Host) -> Bool {
        guard phase == .open, !ending.saidGoodbye else { return false }
        guard handshake.grants.features & ProtocolLimits.sharesMemory != 0, host.isPeerTrusted else {
            sharing.phase = .never
            return false
        }
        return sharing.isBusy(now: host.now, within: busy.nanoseconds)
    }

    /// The channel is ready for descriptors.
    mutating func askForMemory() {
        guard !ending.saidGoodbye else { return }
        sharing.phase = .asked
        write(.share, flags: ShareStep.ask.rawValue)
    }

    mutating func receiveShare(
        _ reader: inout WireReader, flags: UInt8, _ host: Host
    ) throws(ProtocolViolation) -> DeliveryStep {
        guard let step = ShareStep(rawValue: flags) else {
            throw ProtocolViolation(.malformed, "a Share has the unknown flags \(flags)")
        }
        try reader.end()
        guard sharing.phase != .never, handshake.grants.features & ProtocolLimits.sharesMemory != 0 else {
            throw ProtocolViolation(.unknownName, "a Share needs a feature that was not agreed on")
        }
        switch (step, host.isInitiator, sharing.phase) {
        case (.ask, false, .possible):
            // Another user that had a doorbell could make this side wait where it rings that; one of this user could stop
            // this process anyway.
            if host.isPeerTrusted, !ending.saidGoodbye { return .makeMemory }
            memoryWasMade(nil)
            return .none
        case (.give, true, .asked):
            return .takeMemory
        case (.move, true, .agreed):
            sharing.phase = .done
            return .moveInput
        case (.move, false, .agreed) where host.hasSharedMemory:
            sharing.phase = .done
            writeMove()
            return .moveInput
        case (.decline, false, .agreed):
            sharing.phase = .never
            return .dropMemory
        default:
            throw ProtocolViolation(.outOfStep, "a Share says \(step) out of its turn")
        }
    }

    /// This side has made memory for both, or has none to give.
    ///
    /// - Parameter descriptors: The peer's, given over to the channel.
    mutating func memoryWasMade(_ descriptors: [CInt]?) {
        sharing.phase = descriptors == nil ? .never : .agreed
        // The channel refuses and closes what comes behind a Goodbye.
        if ending.saidGoodbye, descriptors == nil { return }
        write(.share, flags: ShareStep.give.rawValue, descriptors: descriptors ?? [])
    }

    /// What the peer has made was opened, or could not be.
    mutating func memoryWasTaken(_ outcome: MemoryOutcome) {
        switch outcome {
        case .taken:
            sharing.phase = .agreed
            writeMove()
        case .none(let isOffered):
            sharing.phase = .never
            // This process has no descriptor left for the memory, say; its maker need not keep it.
            guard isOffered, !ending.saidGoodbye, handshake.grants.features & ProtocolLimits.knowsDecline != 0
            else { return }
            write(.share, flags: ShareStep.decline.rawValue)
        }
    }

    /// The last frame on the socket.
    private mutating func writeMove() {
        guard !ending.saidGoodbye else { return }
        write(.share, flags: ShareStep.move.rawValue, .lastOnSocket)
    }
}
