public import DistantObjects
internal import Synchronization

/// An object behind a connection of its own, in the place of a helper process.
///
/// ```swift
/// let peer = try TestPeer(Worker(), behaviour: .dies(after: 2, .exited(1)))
/// let worker = try await peer.connection.root(as: WorkerInterface.self)
/// ```
///
/// The connection is what `Connection.launch` returns for a helper: the object is its root, and calls, errors and the end are
/// those of an object of another process. It has no `child`, since there is no process.
public final class TestPeer: Sendable {
    /// The caller's end of the connection.
    public let connection: Connection
    private let gate: Gate
    private let object: Connection

    /// Makes a peer whose root is an object of this process.
    ///
    /// - Parameters:
    ///   - object: Kept alive until the connection ends.
    ///   - behaviour: What the peer does besides answering.
    ///   - configuration: The configuration of both ends; events are those of the caller's end.
    ///   - loop: A loop that the test runs by hand; `nil` for the process's loop.
    /// - Throws: `ConnectionError.interfaceMismatch` if the object does not answer what its interface asks.
    public init(
        _ object: some Vendable, behaviour: PeerBehaviour = .init(), configuration: Connection.Configuration = .init(),
        on loop: TestLoop? = nil
    ) throws {
        var configuration = configuration
        configuration.loop = loop?.manual ?? configuration.loop
        gate = Gate(behaviour)
        let guarded = try GatedObject(object, gate, without: behaviour.unavailable)
        let (caller, owner) = try Connection.openPair(configuration, vending: guarded)
        (connection, self.object) = (caller, owner)
        gate.end.withLock { end in
            end = { [weak caller, weak owner] status in
                if let caller { owner?.cut(with: status, seenBy: caller) }
            }
        }
    }

    /// The calls that have begun, in order, with those that were answered by an error of the peer's behaviour.
    ///
    /// Only calls of the object itself are recorded, not those of objects that it has returned.
    public var calls: [RecordedCall] { gate.calls.withLock { $0 } }

    /// Ends the peer as the end of a process does: what it has written arrives, calls under way fail, and the connection ends with
    /// the status.
    public func die(_ status: ChildProcess.ExitStatus = .signalled(9)) {
        object.cut(with: status, seenBy: connection)
    }
}

/// A call that a ``TestPeer`` has got.
public struct RecordedCall: Sendable, Hashable {
    /// The name of the message.
    public let message: String
    /// The metadata that came with it.
    public let metadata: [String: String]
}

/// What a ``TestPeer`` does besides answering.
public struct PeerBehaviour: Sendable {
    /// How many calls begin before the peer dies at the next one; `nil` if it lives on.
    public var callsBeforeDeath: Int?
    /// The status with which it dies.
    public var exitStatus = ChildProcess.ExitStatus.signalled(9)
    /// How long each call waits before it begins.
    public var delay: Duration?
    /// How long calls of some messages wait, by the name of the message, instead of `delay`.
    public var delays: [String: Duration] = [:]
    /// Messages that the peer does not have, as one of an older version.
    ///
    /// Calls of those that the interface gives a version (`since:`) throw `ConnectionError.notAvailable`. If another is missing, the
    /// look-up of the root throws `.interfaceMismatch`.
    public var unavailable: Set<String> = []

    /// A peer that answers all calls.
    public init() {}

    /// A peer that dies instead of answering the call after a number of others.
    public static func dies(after calls: Int, _ status: ChildProcess.ExitStatus = .signalled(9)) -> PeerBehaviour {
        var behaviour = PeerBehaviour()
        behaviour.callsBeforeDeath = calls
        behaviour.exitStatus = status
        return behaviour
    }

    /// A peer in which each call waits before it begins.
    public static func delays(_ delay: Duration) -> PeerBehaviour {
        var behaviour = PeerBehaviour()
        behaviour.delay = delay
        return behaviour
    }

    /// A peer of an older version, which lacks some messages.
    public static func lacks(_ messages: String...) -> PeerBehaviour {
        var behaviour = PeerBehaviour()
        behaviour.unavailable = Set(messages)
        return behaviour
    }
}

/// Lets the calls of one peer begin.
private final class Gate: CallGate {
    private let behaviour: PeerBehaviour
    let calls = Mutex<[RecordedCall]>([])
    /// Ends the peer.
    let end = Mutex<(@Sendable (ChildProcess.ExitStatus) -> Void)?>(nil)

    init(_ behaviour: PeerBehaviour) { self.behaviour = behaviour }

    func delay(of message: String) -> Duration? { behaviour.delays[message] ?? behaviour.delay }

    func begin(_ message: String) throws {
        let count = calls.withLock { calls in
            calls.append(RecordedCall(message: message, metadata: CallContext.current.metadata))
            return calls.count
        }
        guard let limit = behaviour.callsBeforeDeath, count > limit else { return }
        end.withLock { $0 }?(behaviour.exitStatus)
        throw CancellationError()
    }
}
