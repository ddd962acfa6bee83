import PortTransport

/// A helper process that is started when it is first needed, and again when it has died.
///
/// ```swift
/// let parser = Helper(ParserInterface.self, "parser", restart: .onFailure)
/// let tree = try await parser.remote.parse(path)
/// await parser.stop()
/// ```
///
/// The program calls `Connection.parent()` and vends an object that implements the interface as its root.
///
/// A call that has not been sent when a process ends waits for the next one. A call that may have run fails with
/// `ConnectionError.outcomeUnknown`, and is sent once more only if its signature says `idempotent: true`. Objects that a process has
/// returned end with it.
///
/// A helper is stopped by `stop`, or when this object and all its remotes are gone. It is killed, with its process group, when this
/// process ends, however that ends.
public final class Helper<I: Interface>: Sendable {
    /// The helper's root: each call goes to the process of now.
    ///
    /// It cannot be sent to other processes. It is not told when a process ends (`onEnd`): ``events`` tells.
    public let remote: Remote<I>
    let supervisor: Supervisor

    /// A helper that runs a program.
    ///
    /// - Parameters:
    ///   - interface: What the program's root implements.
    ///   - program: As for `Connection.launch`: a name without a slash is looked up beside this program.
    ///   - policy: When it is started again.
    ///   - options: What the program gets, and how long it may take.
    public convenience init(
        _ interface: I.Type, _ program: String, restart policy: RestartPolicy = .onFailure,
        options: HelperOptions = .init()
    ) {
        self.init(interface, program, number: nil, restart: policy, options: options)
    }

    /// - Parameter number: Its number in a pool, which is a part of its name.
    convenience init(
        _ interface: I.Type, _ program: String, number: Int?, restart policy: RestartPolicy, options: HelperOptions
    ) {
        var options = options
        options.process.endsGroup = true
        options.process.endsWithLauncher = true
        let name = program.split(separator: "/").last.map(String.init) ?? program
        self.init(
            name: number.map { "\(name) \($0)" } ?? name, policy, options, .program(program, interface),
            on: options.configuration.loop ?? EventLoop.shared)
    }

    /// A helper for which a function opens a connection each time that one is needed: to a test's peer, to a service, or over a
    /// program of your own.
    ///
    /// - Parameters:
    ///   - interface: What the root of each connection implements.
    ///   - name: What it is called in errors.
    ///   - policy: When the function is called again.
    ///   - options: Of these only `configuration.callTimeout`, `unresponsiveAfter` and `whenUnresponsive` count.
    ///   - open: Opens a connection, which the helper closes. Its task is cancelled if the helper is stopped meanwhile.
    public convenience init(
        _ interface: I.Type, name: String = "helper", restart policy: RestartPolicy = .onFailure,
        options: HelperOptions = .init(), opening open: @escaping @Sendable () async throws -> Connection
    ) {
        self.init(
            name: name, policy, options, .function(open, interface), on: options.configuration.loop ?? EventLoop.shared)
    }

    init(name: String, _ policy: RestartPolicy, _ options: HelperOptions, _ launch: HelperLaunch, on loop: any PortLoop)
    {
        supervisor = Supervisor(name, policy, options, launch, on: loop)
        remote = Remote(DistantObject(following: supervisor), InterfaceShape.of(I.self))
    }

    /// The root of the process of now, which is started if none runs: for calls that belong together, and for promises.
    ///
    /// Unlike `remote`, it ends with the process.
    ///
    /// - Parameter timeout: How long to wait for a process; nil for no limit.
    /// - Throws: `ConnectionError.closed` if the helper was stopped or given up; `.deadlineExceeded`; `CancellationError`.
    public func running(timeout: Duration? = nil) async throws -> Remote<I> {
        try Remote(await supervisor.root(within: timeout))
    }

    /// What happens to the helper; the stream ends when it is stopped.
    ///
    /// The first stream also has what has happened before. A reader that does not read keeps the latest 256 events.
    public var events: AsyncStream<HelperEvent> { supervisor.events.read() }

    /// The connection to the process of now; nil if none is connected.
    public var connection: Connection? { supervisor.connected?.connection }

    /// Starts the helper if it does not run, also if it was given up or waits to be started again: without this, the first call starts it.
    ///
    /// Does not wait until it runs.
    public func start() { supervisor.startAgain() }

    /// Replaces the process of now: it ends in order, and the next one is started, for example after its program was replaced.
    ///
    /// Calls under way are answered, calls made meanwhile wait for the next process. Returns when the first has ended, as it does for
    /// `stop`; calls made after that go to a process that was started after it. A helper that does not run, or was given up, is started.
    /// One that was stopped stays so. Ends before the restart do not count for the policy any more.
    ///
    /// - Parameter timeout: How long calls under way may take; those that take longer fail as if the process had died.
    public func restart(timeout: Duration = .seconds(5)) async { await supervisor.restart(timeout: timeout) }

    /// Stops the helper for good: its calls end, its process ends, and calls made later fail.
    ///
    /// The process has to exit when its connection ends. If it has not after `configuration.exitTimeout` of its options, it gets SIGTERM,
    /// and after that time again it is killed with its group.
    ///
    /// - Parameter timeout: How long calls under way may take.
    public func stop(timeout: Duration = .seconds(5)) async { await supervisor.stop(timeout: timeout) }
}
