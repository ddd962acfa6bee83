import KeyedArchive
import Synchronization

/// Encoders and decoders to use again, shared by all connections: an idle connection owns none.
///
/// A thread keeps one of each, without a lock; the rest lie in a pool.
enum CoderPool {
    @inline(__always)
    static func message(for coder: PortCoder) -> OutboundMessage {
        if let thread = ThreadState.current, let message = thread.pointee.message.take() {
            if message.isDriven(by: coder) || message.adapt(to: coder.settings, owner: coder) { return message }
            pool(message)
        }
        return pooledMessage(for: coder)
    }

    @inline(__always)
    static func put(_ message: consuming OutboundMessage) {
        if let thread = ThreadState.current, thread.pointee.message == nil {
            thread.pointee.message = consume message
        } else {
            pool(message)
        }
    }

    @inline(__always)
    static func decoder(for coder: PortCoder) -> ObjectDecoder {
        if let thread = ThreadState.current, let decoder = thread.pointee.decoder.take() {
            if decoder.isDriven(by: coder) { return decoder }
            let spare = SpareDecoder(decoder: decoder, settings: thread.pointee.decoderSettings ?? coder.settings)
            if spare.adapt(to: coder.settings, owner: coder) { return decoder }
            pool(spare)
        }
        return pooledDecoder(for: coder)
    }

    /// Takes a decoder that is unloaded and that nobody else has.
    @inline(__always)
    static func put(_ decoder: consuming ObjectDecoder, _ settings: CoderSettings) {
        if let thread = ThreadState.current, thread.pointee.decoder == nil {
            thread.pointee.decoder = consume decoder
            if thread.pointee.decoderSettings !== settings { thread.pointee.decoderSettings = settings }
        } else {
            pool(SpareDecoder(decoder: decoder, settings: settings))
        }
    }

    // MARK: The pool

    private struct State {
        var messages: [OutboundMessage] = []
        var decoders: [SpareDecoder] = []
    }

    /// More than ever run at one time in most programs; each keeps up to a megabyte after a large message.
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
            // The one that was not used for longest goes, so that other settings find room.
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

/// A decoder that nobody else has.
struct SpareDecoder: @unchecked Sendable {  // Owned by the one that takes it.
    let decoder: ObjectDecoder
    /// What it is configured for.
    let settings: CoderSettings

    /// Makes it one of that coder's; false if it was made for other classes.
    @inline(never)
    func adapt(to settings: CoderSettings, owner: AnyObject) -> Bool {
        guard settings.fits(self.settings) else { return false }
        if settings !== self.settings { decoder.configure(limits: settings.limits) }
        decoder.codingOwner = owner
        return true
    }
}
