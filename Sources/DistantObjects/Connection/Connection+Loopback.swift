import PortTransport
import Synchronization

// Connections within this process, over which code calls objects and reads streams of its own process.
//
// Such a connection is a pair of ordinary ends over a memory link, so that a call has the properties that it has between
// processes. It is open from the start, holds nothing of the system, and closes when its last reference, call and stream is gone.
extension Connection {
    /// The bytes that may be under way in one direction: those of a few large pieces.
    private static let loopbackCapacity = 256 << 10

    /// Two ends whose conversation is open, before they begin to read.
    ///
    /// - Parameters:
    ///   - kind: What the connection is for; nil for one that its user closes.
    ///   - configuration: For both ends; the second one has no event handler and no roots.
    /// - Throws: `ConnectionError.transport` if the process has no event loop and cannot make one.
    static func loopback(
        _ kind: LoopbackKind?, _ configuration: Configuration = .init()
    ) throws -> (caller: Connection, owner: Connection) {
        var configuration = configuration
        configuration.loopback = kind
        configuration.name = configuration.name ?? "local"
        let (one, other) = MemoryLink.pair(capacity: loopbackCapacity, knowsPeer: true)
        let caller = try make(one, configuration, isInitiator: true)
        configuration.onEvent = nil
        configuration.roots = [:]
        let owner = try make(other, configuration, isInitiator: false)
        let granted = (
            caller.state.withLock { $0.grantsWithinProcess }, owner.state.withLock { $0.grantsWithinProcess }
        )
        caller.state.withLock { $0.open(granted: granted.1) }
        owner.state.withLock { $0.open(granted: granted.0) }
        if kind == .home {
            caller.life.withLock { $0.twin = owner }
            owner.life.withLock { $0.twin = caller }
        }
        return (caller, owner)
    }

    /// A proxy for an object of this process, over a connection of its own.
    ///
    /// If there is none, each message to the returned proxy throws the reason.
    static func proxy(
        for object: some Vendable, _ kind: LoopbackKind, _ configuration: Configuration
    ) -> DistantObject {
        do {
            let (caller, owner) = try loopback(kind, configuration)
            _ = try owner.coder.vended(object)
            let messages = ClassMessages.of(object)
            let id = owner.state.withLock {
                $0.session.references.exports.mention(object, messages: messages, number: 0)
            }
            let proxy = try caller.state.withLock { state in
                try state.session.references.imports.proxy(for: id) {
                    caller.makeProxy(for: id, of: messages._withUnsafeGuaranteedRef { $0.described })
                }
            }
            owner.beginOpen(configuration)
            caller.beginOpen(configuration)
            return proxy
        } catch {
            return DistantObject(promised: .failed(error))
        }
    }

    /// Begins to read on an end whose conversation is open.
    ///
    /// Before that the end needs a use, else it closes.
    func beginOpen(_ configuration: Configuration = .init()) {
        if settings.onEvent != nil { LoopWatch.shared.add(self) }
        handshakeEnded(nil)
        channel.start(self)
        reportOnLoop(.opened(peer: channel.peer, settings.conversation.program))
        keepAlive(every: configuration.keepalive)
        if settings.loopback == nil { checkWhetherDropped() } else { closeOnceUnused() }
    }

    // MARK: The end

    /// Closes a connection that the library has opened within this process, if nothing can use it any more.
    func closeIfUnused() {
        guard settings.loopback != nil, state.withLock({ $0.isUnused }) else { return }
        // Nothing limits the time: one-way messages may still run, or wait.
        beginClosing(because: .closedHere)
    }

    /// Looks from time to time whether the connection is unused.
    ///
    /// The end of most uses is noticed at once. That of a stream that is read last, or of a method that nothing waits for, is
    /// not.
    private func closeOnceUnused(after pause: Duration = .seconds(1)) {
        let timer = loop.addTimer(after: pause) { [channel] in
            guard let connection = channel.handler as? Connection else { return }
            connection.closeIfUnused()
            connection.closeOnceUnused(after: min(pause * 2, .seconds(64)))
        }
        let isOver = life.withLock { life in
            life.dropTimer = timer
            return life.end != nil
        }
        if isOver { loop.cancelTimer(timer) }
    }

    // MARK: References

    /// The object that a proxy of this connection stands for, if the connection is one from this process to its own objects.
    func homeObject(_ id: ObjectID) -> (any Vendable)? {
        guard settings.loopback == .home, let twin = life.withLock({ $0.twin }) else { return nil }
        // The proxy lives, so its object is exported.
        return twin.state.withLock { $0.session.references.exports[id]?.object } as? any Vendable
    }
}

extension Connection.Configuration {
    /// Takes over how another connection encodes its messages, and its loop.
    mutating func adopt(_ settings: CoderSettings, _ connection: Connection?) {
        limits.archive = settings.limits
        limits.viewedBytes = settings.viewedBytes
        classes = settings.classes
        errorTypes = Array(settings.errorTypes.values)
        exposesErrorText = settings.exposesErrorText
        loop = connection?.loop
    }
}

// Connections of tests, whose peer stands for another process.
extension Connection {
    /// Two ends in this process that are open.
    ///
    /// - Parameters:
    ///   - configuration: For both ends, as for a connection of a `Remote(local:)`.
    ///   - object: The root of the second end.
    /// - Throws: `ConnectionError.transport` if the process has no event loop and cannot make one.
    package static func openPair(
        _ configuration: Configuration, vending object: any Vendable
    ) throws -> (caller: Connection, owner: Connection) {
        let (caller, owner) = try loopback(nil, configuration)
        owner.vend(object)
        owner.beginOpen(configuration)
        caller.beginOpen(configuration)
        return (caller, owner)
    }

    /// Ends the connection as the end of this side's process does: the peer gets what is written, and no goodbye.
    ///
    /// - Parameters:
    ///   - status: The exit status of the process that this side stands for; nil if it stands for none.
    ///   - peer: The other end.
    package func cut(with status: ChildProcess.ExitStatus? = nil, seenBy peer: Connection) {
        peer.life.withLock { $0.peerStatus = status }
        state.withLock { $0.session.life.decide(.closedHere) }
        channel.flushAndCancel(.byThisSide)
    }
}
