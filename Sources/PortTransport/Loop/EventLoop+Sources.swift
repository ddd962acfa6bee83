internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// A loop calls this when a descriptor is ready: on the leader, with no lock held.
///
/// It never runs user code.
///
/// While the kernel holds a thread in the call, another thread may make the same call.
protocol PollHandler: AnyObject, Sendable {
    /// Handles the event and returns the handler that got frames, which the loop notifies as a separate piece of work.
    func ready(_ bits: UInt32, readContext: UnsafeMutablePointer<ReadContext>) -> (any FrameHandler)?
}

extension EventLoop {
    /// Registers a descriptor; the loop holds `handler` until `removeSource`.
    ///
    /// The number is never 0.
    func addSource(
        _ descriptor: CInt, interest: UInt32, _ handler: any PollHandler
    ) throws(TransportError) -> UInt64 {
        guard isAlive else { throw TransportError(.forked, "The event loop belongs to the parent process.") }
        let held = lock.lock()
        let slot: Int
        if let free = state.pointee.freeSources.popLast() {
            slot = free
        } else {
            slot = state.pointee.sources.count
            state.pointee.sources.append(Source(generation: 1))
        }
        state.pointee.sources[slot].handler = handler
        state.pointee.sources[slot].channel = (handler as? LoopChannel).map { Unmanaged.passUnretained($0) }
        let token = UInt64(state.pointee.sources[slot].generation) << 32 | UInt64(slot)
        if port_poller_add(poller, descriptor, token, interest) < 0 {
            let number = errno
            freeSource(slot, held)
            lock.unlock(held)
            throw .system("registering a descriptor", number)
        }
        if state.pointee.leader != .missing { lock.unlock(held) } else { wake(unlocking: held) }
        return token
    }

    func changeSource(_ token: UInt64, _ descriptor: CInt, from: UInt32, to: UInt32) {
        guard isAlive else { return }
        _ = port_poller_change(poller, descriptor, token, from, to)
    }

    /// Has the poller report input or room once more that is there already.
    func rearm(_ token: UInt64, _ descriptor: CInt, _ interest: UInt32) {
        guard isAlive else { return }
        _ = port_poller_again(poller, descriptor, token, interest)
    }

    /// Forgets a source, before its descriptor is closed.
    ///
    /// Events under way are not delivered.
    func removeSource(_ token: UInt64, _ descriptor: CInt, interest: UInt32) {
        guard isAlive else { return }
        _ = port_poller_remove(poller, descriptor, interest)
        let held = lock.lock()
        // A source removed twice would put its slot into the free list twice.
        guard self.handler(of: token, held) != nil else { return lock.unlock(held) }
        let handler = freeSource(Int(truncatingIfNeeded: token & 0xFFFF_FFFF), held)
        if let handler, state.pointee.delivering != nil { state.pointee.removed.append(handler) }
        lock.unlock(held)
        withExtendedLifetime(handler) {}
    }

    /// Set in the token of a source's doorbell, which is its second descriptor.
    static let doorbellBit: UInt64 = 1 << 31

    func addDoorbell(_ token: UInt64, _ doorbell: CInt, interest: UInt32) -> Bool {
        isAlive && port_poller_add(poller, doorbell, token | Self.doorbellBit, interest) >= 0
    }

    func changeDoorbell(_ token: UInt64, _ doorbell: CInt, from: UInt32, to: UInt32) {
        changeSource(token | Self.doorbellBit, doorbell, from: from, to: to)
    }

    func rearmDoorbell(_ token: UInt64, _ doorbell: CInt, _ interest: UInt32) {
        rearm(token | Self.doorbellBit, doorbell, interest)
    }

    /// Takes the doorbell from the poller; call it before the source is removed.
    func removeDoorbell(_ doorbell: CInt, interest: UInt32) {
        guard isAlive else { return }
        _ = port_poller_remove(poller, doorbell, interest)
    }

    /// The bits of an event, with `PORT_DOORBELL` if it is a doorbell's.
    @inline(__always)
    func bits(of event: port_event) -> UInt32 {
        event.token & Self.doorbellBit == 0 ? event.ready : event.ready | UInt32(PORT_DOORBELL)
    }

    /// The channel of a token, which lives while the loop delivers.
    @inline(__always)
    func channel(of token: UInt64, _ held: borrowing Held<State>) -> Unmanaged<LoopChannel>? {
        let slot = Int(truncatingIfNeeded: token & 0x7FFF_FFFF)
        guard slot < state.pointee.sources.count else { return nil }
        guard UInt64(state.pointee.sources[slot].generation) == token >> 32 else { return nil }
        return state.pointee.sources[slot].channel
    }

    func handler(of token: UInt64, _ held: borrowing Held<State>) -> (any PollHandler)? {
        let slot = Int(truncatingIfNeeded: token & 0x7FFF_FFFF)
        guard slot < state.pointee.sources.count else { return nil }
        guard UInt64(state.pointee.sources[slot].generation) == token >> 32 else { return nil }
        return state.pointee.sources[slot].handler
    }

    @discardableResult
    private func freeSource(_ slot: Int, _ held: borrowing Held<State>) -> (any PollHandler)? {
        let handler = state.pointee.sources[slot].handler
        state.pointee.sources[slot].handler = nil
        state.pointee.sources[slot].channel = nil
        state.pointee.sources[slot].generation = max(1, state.pointee.sources[slot].generation &+ 1)
        state.pointee.freeSources.append(slot)
        return handler
    }
}
