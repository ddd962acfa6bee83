internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Gets the program of a service started, for a client that finds nobody listening at its socket.
///
///     untried ──lock free──▶ started ──connected──▶ (over)
///        │                      │
///        │ another has the lock │ it has ended, and another process has the lock
///        ▼                      ▼
///     waiting ◀─────────────────┘
///        └──lock free──▶ started
///
/// A client needs the lock of the socket to start the program, and passes the lock on to it. So no second client can start the program,
/// and no second program can listen. Other clients wait, and connect when the program listens.
package struct ServiceStart {
    /// The program of a service.
    package struct Program: Sendable, Hashable {
        package var name: String
        package var arguments: [String] = []
        package var environment: [String: String] = [:]
        package var directory: String?
        /// A file to which what it prints is appended; nil: that goes nowhere.
        package var output: String?
        /// How long it may take until it listens.
        package var limit: Duration

        package init(name: String, limit: Duration) {
            self.name = name
            self.limit = limit
        }
    }

    private enum State {
        case untried
        /// For that process, which has the name, or has started the program.
        case waiting(for: pid_t, since: ContinuousClock.Instant)
        case started(ChildProcess, since: ContinuousClock.Instant)
    }

    /// How often the program is started for one client, if it ends in order before the client is connected.
    private static let mostStarts = 3
    /// How many times the limit of the program a client waits for programs that others start, one after the other.
    private static let patience = 4

    private let path: String
    private let program: Program
    private let version: UInt64
    private let loop: EventLoop
    private var state = State.untried
    private var starts = 0
    private var begin: ContinuousClock.Instant?
    /// Whether a program that another process had started was ended because it did not listen.
    private var hasEndedOther = false

    /// - Parameters:
    ///   - path: The path of the socket.
    ///   - version: The version of this side, for other processes.
    ///   - loop: The loop that notes the end of the program.
    package init(path: String, _ program: Program, version: UInt64, loop: EventLoop = .shared) {
        self.path = path
        self.program = program
        self.version = version
        self.loop = loop
    }

    /// Nobody listens: starts the program, or sees to it that the one that was started listens in time.
    ///
    /// Does not wait; the caller tries again to connect, and calls this again if still nobody listens.
    ///
    /// - Throws: `launchFailed` if the program cannot be started, ends, or does not listen in time; `nameTaken` if another process has
    ///   the name for longer than that and does not listen; as `SocketListener.init` if other files are in the way.
    package mutating func nobodyListens(at now: ContinuousClock.Instant = .now) throws(TransportError) {
        let first = begin ?? now
        begin = first
        guard now - first <= program.limit * Self.patience else {
            throw failure("has not listened for \(now - first), although it was started again and again")
        }
        switch state {
        case .untried: try start(now)
        case .waiting(let holder, let since):
            if now - since > program.limit { try endOther(holder, since, now) } else { try start(now) }
        case .started(let child, let since):
            if let status = child.exitStatus { return try ended(status, now) }
            guard now - since > program.limit else { return }
            // It leads a session, whose other processes may have its lock, too.
            child.killGroup()
            throw failure("did not listen within \(program.limit), and was ended")
        }
    }

    /// Starts the program, or waits for the process that has the lock.
    private mutating func start(_ now: ContinuousClock.Instant) throws(TransportError) {
        let (folder, name) = try SocketPlace.parts(path)
        let lock: ListenerLock
        do {
            lock = try ListenerLock(
                of: name, in: folder, path: path, version: version, for: .starting(program.limit))
        } catch {
            guard error.code == .nameTaken else { throw error }
            return wait(name, in: folder, now)
        }
        do throws(TransportError) {
            // A process that takes no lock may listen by now.
            if folder.file(named: name)?.isSocket == true { try SocketPlace.checkStale(name, in: folder, path) }
            guard starts < Self.mostStarts else {
                throw failure("was started \(starts) times, and ends before it listens")
            }
            starts += 1
            state = .started(try launch(with: lock), since: now)
            lock.passedOn()
        } catch {
            lock.giveUp()
            guard error.code == .nameTaken else { throw error }
            wait(name, in: folder, now)
        }
    }

    /// Waits for the process that has the lock; from now on, if it is another one than before.
    private mutating func wait(_ name: String, in folder: SocketFolder, _ now: ContinuousClock.Instant) {
        let holder = ListenerLock.look(at: name, in: folder)?.holder?.pid ?? 0
        if case .waiting(holder, _) = state { return }
        state = .waiting(for: holder, since: now)
    }

    private func launch(with lock: ListenerLock) throws(TransportError) -> ChildProcess {
        var output: CInt?
        if let file = program.output {
            let opened = port_open_to_append(file)
            guard opened >= 0 else { throw .system("opening the file for its output", errno, context: [file]) }
            output = opened
        }
        defer { if let output { port_close(output) } }
        var options = ChildProcess.Options()
        options.descriptors = [ListenerLock.passedName: lock.descriptor]
        return try ChildProcess.launchDetached(
            ChildProcess.located(program.name), arguments: program.arguments, environment: program.environment,
            in: program.directory, output: output, options: options, loop: loop)
    }

    /// The program has ended, and nobody listens.
    private mutating func ended(
        _ status: ChildProcess.ExitStatus, _ now: ContinuousClock.Instant
    ) throws(TransportError) {
        let (folder, name) = try SocketPlace.parts(path)
        // It has gone on as another process, or another client was quicker.
        if ListenerLock.look(at: name, in: folder)?.isHeld == true {
            wait(name, in: folder, now)
        } else if status == .exited(0), starts < Self.mostStarts {
            // It may have listened, and ended because it was idle.
            try start(now)
        } else {
            throw failure("has ended with \(status) before this process was connected")
        }
    }

    /// The same process has had the lock for longer than the program may take.
    private mutating func endOther(
        _ holder: pid_t, _ since: ContinuousClock.Instant, _ now: ContinuousClock.Instant
    ) throws(TransportError) {
        let (folder, name) = try SocketPlace.parts(path)
        let found = ListenerLock.look(at: name, in: folder)
        guard let found, found.isHeld, found.holder?.pid ?? 0 == holder else { return try start(now) }
        if let limit = found.holder?.startLimit, !hasEndedOther {
            // The process that has started it may give it more time.
            if now - since > limit, LockHolders.endStarted(name, in: folder, by: holder) {
                hasEndedOther = true
                state = .untried
                return
            }
        }
        throw TransportError(
            .nameTaken,
            "\(found.holder.map { "\($0)" } ?? "a process") has the name, and nobody listens within \(program.limit)",
            context: [path])
    }

    private func failure(_ what: String) -> TransportError {
        TransportError(.launchFailed, "the program \(what)", context: [program.name, path])
    }
}
