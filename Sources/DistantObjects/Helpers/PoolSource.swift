import PortTransport
import Synchronization

/// Gives each message the root of the helper with the fewest messages under way.
final class PoolSource: PlaceSource {
    private let supervisors: [Supervisor]
    private let queue: PlaceQueue
    /// Makes choosing a helper and counting the message one step.
    private let choosing = Mutex(())

    init(_ supervisors: [Supervisor], name: String, on loop: any PortLoop) {
        self.supervisors = supervisors
        self.name = name
        self.loop = loop
        queue = PlaceQueue(name, on: loop)
        for supervisor in supervisors { supervisor.observe { [weak self] in self?.check() } }
    }

    let name: String
    let loop: any PortLoop
    var callTimeout: Duration? { supervisors.first?.callTimeout }
    var current: MessagePlace? { supervisors.lazy.compactMap(\.current).first }

    func take(within limit: Duration?) async throws -> TakenPlace {
        let end = limit.map { Deadline(after: $0, at: loop.now) }
        while true {
            if let taken = try takeNow() { return taken }
            _ = try await queue.wait(within: left(end)) { check() }
        }
    }

    func takeBlocking(within limit: Duration?) throws -> TakenPlace {
        let end = limit.map { Deadline(after: $0, at: loop.now) }
        while true {
            if let taken = try takeNow() { return taken }
            _ = try queue.waitBlocking(within: left(end)) { self.check() }
        }
    }

    private func left(_ end: Deadline?) -> Duration? {
        end.map { .microseconds(Int64(clamping: $0.microseconds(at: loop.now))) }
    }

    func takeNow() throws -> TakenPlace? {
        try choosing.withLock { _ in
            var failure: (any Error)? =
                supervisors.isEmpty ? ConnectionError(.closed, "the pool has no helpers", context: name) : nil
            var isComing = false
            var best: TakenPlace?
            for supervisor in supervisors {
                do {
                    // Starts those that have ended in order, too.
                    guard let place = try supervisor.ready() else {
                        isComing = true
                        continue
                    }
                    if let best, best.count.value <= supervisor.used.value { continue }
                    best = TakenPlace(place: place, count: supervisor.used)
                } catch {
                    failure = error
                }
            }
            if best == nil, !isComing, let failure { throw failure }
            best?.count.add()
            return best
        }
    }

    /// Wakes the messages that wait, if one of the helpers runs or none will.
    private func check() {
        guard !queue.isEmpty else { return }
        if let place = current { return queue.resume(with: .success(place)) }
        do { try takeNow()?.giveBack() } catch { queue.resume(with: .failure(error)) }
    }
}
