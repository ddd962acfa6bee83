internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The process at the other end.
///
/// The peer is the process that has sent the first bytes: a process that has made the socket, or was launched with the
/// socket, may have given it to another process. When the peer's process ends, the socket is shut down. That leaves the
/// socket as the end of its last holder would: what was written is still read, then the input ends, and nothing more
/// can be written.
extension Channel {
    /// Whether the channel ends when the peer's process does, even if another process holds the other end.
    package var watchesPeer: Bool {
        guard !isForked else { return false }
        return gate.withLock { _ in if case .speaker = gated.peerProcess { true } else { false } }
    }

    /// Has the handler notified when the process that launched this one ends, if it is not known which process is the peer.
    ///
    /// Call this function after the start.
    package func watchLauncher() {
        guard !isForked, !watchesPeer, let eventLoop else { return }
        switch eventLoop.watch(getppid(), given: CInt(PORT_NO_PROCESS)) {
        case .watched(let process): watch(.launcher(process), process, eventLoop)
        case .ended: gate.withLock { launcherEnded($0) }
        case .unknown: break
        }
    }

    /// Takes what the kernel says about the sender of the first bytes.
    ///
    /// The function is called with the read lock held.
    func takeSender(_ ancillary: UnsafeMutablePointer<port_ancillary>) {
        let process = ancillary.pointee.process
        // The descriptor of the process is this channel's now, because the memory is used again for other reads.
        ancillary.pointee.process = CInt(PORT_NO_PROCESS)
        guard ancillary.pointee.has_credentials, reading.wantsCredentials else {
            if process >= 0 { port_close(process) }
            return
        }
        reading.wantsCredentials = false
        let peer = PeerCredentials(ancillary.pointee.credentials)
        _ = port_pass_credentials(link.inputDescriptor, false)
        gate.withLock { held in
            if credentialSource == .message { gated.peer = peer }
            gated.readsWhole = !acceptsDescriptors
            if gated.inputInterest & UInt32(PORT_READABLE) != 0 { setReadInterest(true, held) }
        }
        // This process needs no news of its own end.
        guard let eventLoop, peer.pid != getpid() else {
            if process >= 0 { port_close(process) }
            return
        }
        switch eventLoop.watch(peer.pid, given: process) {
        case .watched(let process): watch(.speaker(process), process, eventLoop)
        case .ended: gate.withLock { speakerEnded($0) }
        case .unknown: break
        }
    }

    private func watch(_ peer: WatchedPeer, _ process: PeerProcess, _ eventLoop: EventLoop) {
        let isKept = gate.withLock { _ in
            guard !gated.life.isOver, case .none = gated.peerProcess else { return false }
            gated.peerProcess = peer
            return true
        }
        guard isKept else { return eventLoop.forget(process) }
        // The loop may have looked for the channels of the process before this one was among them.
        if eventLoop.hasEnded(process) { processEnded(process) }
    }

    func speakerEnded(_ held: borrowing Held<GateState>) {
        // The descriptor is open as long as the channel is not over.
        if !gated.life.hasEnd { link.shutdown() }
    }

    func launcherEnded(_ held: borrowing Held<GateState>) {
        guard !gated.life.hasEnd, let handler = gated.handler else { return }
        loop.perform { handler.peerMayBeGone() }
    }
}
