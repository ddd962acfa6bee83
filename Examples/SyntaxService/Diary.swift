import DistantObjects
import ExampleConsole
import Synchronization
import SyntaxServiceValues

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What has happened to the helper, told to the user in one line each.
final class Diary: Sendable {
    private struct State {
        var counts: [Trouble: Int] = [:]
        /// The processes so far.
        var processes: [Int32] = []
        /// The process that is being killed, and why.
        var killed: (Int32, String)?
        /// What has brought down the last process.
        var death: String?
        /// Those that wait until the start of a process is noted.
        var waiting: [(Int32, CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    /// How often something has happened.
    func count(_ trouble: Trouble) -> Int { state.withLock { $0.counts[trouble] ?? 0 } }

    /// The helper's processes.
    var processes: [Int32] { state.withLock { $0.processes } }

    /// Waits until everything is noted that has happened before the start of a process.
    func isWritten(to process: Int32) async {
        await withCheckedContinuation { continuation in
            let isWritten = state.withLock { state in
                if state.processes.contains(process) { return true }
                state.waiting.append((process, continuation))
                return false
            }
            if isWritten { continuation.resume() }
        }
    }

    /// Counts and says something.
    func note(_ trouble: Trouble?, _ line: String) {
        if let trouble { state.withLock { $0.counts[trouble, default: 0] += 1 } }
        Console.say("  \(line)")
    }

    /// Notes why a process is killed.
    func expectEnd(of process: Int32, because reason: String) {
        state.withLock { $0.killed = (process, reason) }
    }

    /// Notes what has happened to the helper.
    func note(_ event: HelperEvent) {
        switch event {
        case .started(let pid?):
            let death = state.withLock { $0.death.take() }
            let line = death.map { "the helper has died: \($0); process \(pid) takes its place" }
            note(nil, line ?? "the helper runs as process \(pid)")
            let waiting = state.withLock { state in
                state.processes.append(pid)
                defer { state.waiting.removeAll { $0.0 == pid } }
                return state.waiting.filter { $0.0 == pid }
            }
            for (_, continuation) in waiting { continuation.resume() }
        case .ended(let end):
            if !end.lastErrorLines.isEmpty {
                let lines = end.lastErrorLines.split(separator: "\n").joined(separator: "; ")
                note(.print, "the helper had printed: \(lines)")
            }
            guard !end.isOrderly else { return }
            state.withLock { state in
                let killed = state.killed.take()
                let reason = killed?.0 == state.processes.last ? killed?.1 : nil
                let trouble: Trouble? = reason != nil ? .leak : end.status == .signalled(SIGABRT) ? .crash : nil
                if let trouble { state.counts[trouble, default: 0] += 1 }
                state.death = reason ?? end.reason
            }
        case .unresponsive: state.withLock { $0.counts[.hang, default: 0] += 1 }
        case .gaveUp(let reason): note(nil, "the helper is given up: \(reason)")
        default: break
        }
    }
}
