import PortTransport

// The switch from the socket to shared memory. The host does the channel's part while it handles the frame that asks
// for that.
extension Conversation {
    /// Whether this side, the initiator, asks for shared memory now: the last batch of messages came fast enough.
    @inline(__always)
    mutating func wantsMemory(_ host: Host) -> Bool {
        guard sharing.phase == .possible, let busy = settings.sharesMemoryWhen,
            sharing.hasBatch(entered &+ sent, of: busy.frames)
        else { return false }
        return isBusy(busy, host)
    }

    @inline(never)
    private mutating func isBusy(_ busy: BusyTraffic, _ host: Host) -> Bool {
        guard isOpen else { return false }
        guard handshake.grants.features.contains(.sharedMemory), host.isPeerTrusted else {
            sharing.phase = .never
            return false
        }
        return sharing.isBusy(frames: entered &+ sent, now: host.now, within: busy.nanoseconds)
    }

    /// Whether both sides say in shared memory on which processor they run.
    var tellsProcessor: Bool { handshake.grants.features.contains(.processor) }

    /// Asks the peer for memory.
    ///
    /// The channel must be ready to receive descriptors.
    mutating func askForMemory() {
        sharing.phase = .asked
        outbox.write(ShareFrame(.ask))
    }

    mutating func receive(
        _ frame: ShareFrame, _ host: Host, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) -> DeliveryStep {
        let step = frame.step
        if step.isOfBlobs {
            try receiveBlobs(frame, host, &actions)
            return .none
        }
        guard sharing.phase != .never, handshake.grants.features.contains(.sharedMemory) else {
            throw ProtocolViolation(.unknownName, "a Share needs a feature that was not agreed on")
        }
        switch (step, host.isInitiator, sharing.phase) {
        case (.ask, false, .possible):
            // A *doorbell* is the descriptor with which one side wakes the other. While this side rings the peer's
            // doorbell, the peer can keep this side's thread in a system call that does not end. A process of the same
            // user could stop this process anyway.
            if host.isPeerTrusted, !outbox.isClosed { return .makeMemory }
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
            throw ProtocolViolation(.outOfStep, "a Share says \(step) out of step")
        }
    }

    /// Sends the peer the descriptors of shared memory, or that there is none.
    ///
    /// - Parameter descriptors: The peer's descriptors, which the channel owns from now on; nil if no memory could be made.
    mutating func memoryWasMade(_ descriptors: [CInt]?) {
        sharing.phase = descriptors == nil ? .never : .agreed
        outbox.write(.share, flags: ShareStep.give.rawValue, descriptors: descriptors ?? [])
    }

    /// Goes on after this side has opened the memory that the peer made, or could not open it.
    mutating func memoryWasTaken(_ outcome: MemoryOutcome) {
        switch outcome {
        case .taken:
            sharing.phase = .agreed
            writeMove()
        case .none(let isOffered):
            sharing.phase = .never
            // Opening can fail, for example if this process has no descriptors left. The peer can then free the memory.
            guard isOffered, handshake.grants.features.contains(.decline) else { return }
            outbox.write(ShareFrame(.decline))
        }
    }

    /// Writes the last frame on the socket.
    private mutating func writeMove() {
        outbox.finish(.share, flags: ShareStep.move.rawValue, .lastOnSocket)
    }
}
