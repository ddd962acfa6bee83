import KeyedArchive
import Synchronization

/// The bounds and classes that a connection's messages are encoded and decoded with.
final class CoderSettings: Sendable {
    let limits: Limits
    let classes: ClassRegistry

    init(limits: Limits, classes: ClassRegistry) {
        self.limits = limits
        self.classes = classes
    }

    /// Nearly every connection has these.
    private static let plain = CoderSettings(limits: Limits(), classes: ClassRegistry())

    static func of(_ configuration: Connection.Configuration) -> CoderSettings {
        let limits = configuration.limits.archive
        if configuration.classes.isPlain, limits == plain.limits { return plain }
        return CoderSettings(limits: limits, classes: configuration.classes)
    }

    /// Whether an encoder or decoder made for the other needs no more than these limits to work for this.
    ///
    /// They remember names of classes, so the registries have to be the same; nearly all are empty.
    func fits(_ other: CoderSettings) -> Bool {
        self === other || (classes.isPlain && other.classes.isPlain)
    }
}

/// Encoders and decoders to use again: those of all connections, so that an idle connection owns none.
final class CoderPool: Sendable {
    static let shared = CoderPool()

    /// A decoder that nobody else has.
    private struct Spare: @unchecked Sendable {
        let decoder: ObjectDecoder
        /// What it is configured for.
        let settings: CoderSettings
    }

    private struct State {
        var messages: [OutboundMessage] = []
        var decoders: [Spare] = []
    }

    /// More than ever run at one time in most programs; each keeps up to a megabyte after a large message.
    private static let size = 16

    private let state = Mutex(State())

    func message(for coder: PortCoder) -> OutboundMessage {
        let known = state.withLock { state -> OutboundMessage? in
            guard let index = state.messages.lastIndex(where: { coder.settings.fits($0.settings) }) else { return nil }
            return state.messages.remove(at: index)
        }
        guard let message = known else { return OutboundMessage(for: coder) }
        message.prepare(for: coder)
        return message
    }

    func put(_ message: OutboundMessage) {
        _ = state.withLock { state -> OutboundMessage? in
            state.messages.append(message)
            // What was not used for long goes, so that other settings find room.
            return state.messages.count > Self.size ? state.messages.removeFirst() : nil
        }
    }

    func decoder(for coder: PortCoder) -> ObjectDecoder {
        let known = state.withLock { state -> Spare? in
            guard let index = state.decoders.lastIndex(where: { coder.settings.fits($0.settings) }) else { return nil }
            return state.decoders.remove(at: index)
        }
        guard let spare = known else {
            let made = ObjectDecoder(limits: coder.settings.limits, classes: coder.settings.classes)
            made.codingOwner = coder
            return made
        }
        if spare.settings !== coder.settings {
            spare.decoder.configure(limits: coder.settings.limits)
        }
        spare.decoder.codingOwner = coder
        return spare.decoder
    }

    /// Takes a decoder that is unloaded and that nobody else has.
    func put(_ decoder: ObjectDecoder, _ settings: CoderSettings) {
        decoder.codingOwner = nil
        let spare = Spare(decoder: decoder, settings: settings)
        _ = state.withLock { state -> Spare? in
            state.decoders.append(spare)
            return state.decoders.count > Self.size ? state.decoders.removeFirst() : nil
        }
    }
}
