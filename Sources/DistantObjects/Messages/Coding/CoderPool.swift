import KeyedArchive
import Synchronization

/// Reusable encoders and decoders, shared by all connections, so that an idle connection owns none.
///
/// Each thread keeps one of each, which it takes without a lock. The rest are in a pool under a lock.
enum CoderPool {
    @inline(__always)
    static func message(for coder: PortCoder) -> OutboundMessage {
        if let thread = ThreadState.current, let message = thread.pointee.spare.message.take() {
            if message.isDriven(by: coder) || message.adapt(to: coder.settings, owner: coder) { return message }
            pool(message)
        }
        return pooledMessage(for: coder)
    }

    @inline(__always)
    static func put(_ message: consuming OutboundMessage) {
        if let thread = ThreadState.current, thread.pointee.spare.message == nil {
            thread.pointee.spare.message = consume message
        } else {
            pool(message)
        }
    }

    @inline(__always)
    static func decoder(for coder: PortCoder) -> ObjectDecoder {
        if let thread = ThreadState.current, let decoder = thread.pointee.spare.decoder.take() {
            if decoder.isDriven(by: coder) { return decoder }
            let spare = SpareDecoder(decoder: decoder, settings: thread.pointee.spare.decoderSettings ?? coder.settings)
            if spare.adapt(to: coder.settings, owner: coder) { return decoder }
            pool(spare)
        }
        return pooledDecoder(for: coder)
    }

    /// Returns a decoder that is unloaded and has no other owner.
    @inline(__always)
    static func put(_ decoder: consuming ObjectDecoder, _ settings: CoderSettings) {
        if let thread = ThreadState.current, thread.pointee.spare.decoder == nil {
            thread.pointee.spare.decoder = consume decoder
            if thread.pointee.spare.decoderSettings !== settings { thread.pointee.spare.decoderSettings = settings }
        } else {
            pool(SpareDecoder(decoder: decoder, settings: settings))
        }
    }

    // MARK: The pool

    private struct State {
        var messages: [OutboundMessage] = []
        var decoders: [SpareDecoder] = []
    }

    /// More than most programs use at one time.
    ///
    /// After a large message each keeps up to a megabyte.
    private static let size = 16

    private static let shared = Mutex(State())

    @inline(never)
    private static func pooledMessage(for coder: PortCoder) -> OutboundMessage {
        let known = shared.withLock { state -> OutboundMessage? in
            guard let index = state.messages.lastIndex(where: { coder.settings.fits($0.settings) }) else { return nil }
            return state.messages.remove(at: index)
        }
        guard let message = known, message.adapt(to: coder.settings, owner: coder) else {
            return OutboundMessage(coder.settings, owner: coder)
        }
        return message
    }

    @inline(never)
    private static func pool(_ message: OutboundMessage) {
        message.encoder.codingOwner = nil
        _ = shared.withLock { state -> OutboundMessage? in
            state.messages.append(message)
            // Drops the least recently used one, so that messages with other settings find room.
            return state.messages.count > size ? state.messages.removeFirst() : nil
        }
    }

    @inline(never)
    private static func pooledDecoder(for coder: PortCoder) -> ObjectDecoder {
        let known = shared.withLock { state -> SpareDecoder? in
            guard let index = state.decoders.lastIndex(where: { coder.settings.fits($0.settings) }) else { return nil }
            return state.decoders.remove(at: index)
        }
        if let known, known.adapt(to: coder.settings, owner: coder) { return known.decoder }
        let made = ObjectDecoder(limits: coder.settings.limits, classes: coder.settings.classes)
        made.codingOwner = coder
        return made
    }

    @inline(never)
    private static func pool(_ spare: consuming SpareDecoder) {
        spare.decoder.codingOwner = nil
        _ = shared.withLock { [spare] state -> SpareDecoder? in
            state.decoders.append(spare)
            return state.decoders.count > size ? state.decoders.removeFirst() : nil
        }
    }
}

/// A pooled decoder and the settings it is configured for.
struct SpareDecoder: @unchecked Sendable {  // Has one owner at a time: the pool, or the thread that took it.
    let decoder: ObjectDecoder
    let settings: CoderSettings

    /// Configures the decoder for a coder.
    ///
    /// Returns false if it was made for other classes.
    @inline(never)
    func adapt(to settings: CoderSettings, owner: AnyObject) -> Bool {
        guard settings.fits(self.settings) else { return false }
        if settings !== self.settings { decoder.configure(limits: settings.limits) }
        decoder.codingOwner = owner
        return true
    }
}
