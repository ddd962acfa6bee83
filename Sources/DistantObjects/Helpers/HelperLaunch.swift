import PortTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Starts a process of a helper, or what stands for one.
struct HelperLaunch: Sendable {
    /// Starts one, and looks up its root.
    let start: @Sendable (_ number: Int, _ name: String, HelperOptions) async throws -> Supervisor.Instance

    /// Starts a program.
    static func program<I: Interface>(_ path: String, _ interface: I.Type) -> HelperLaunch {
        HelperLaunch { number, name, options in
            var configuration = options.configuration
            configuration.name = configuration.name ?? (number == 1 ? name : "\(name) (start \(number))")
            // Nothing of a helper stays.
            configuration.exitTimeout = configuration.exitTimeout ?? .seconds(1)
            let output = try HelperOutput(options)
            let launch = ProgramLaunch(
                executable: path, arguments: options.arguments, environment: options.environment,
                directory: options.directory, standardError: output.errors?.writing, transport: options.transport,
                options: output.processOptions(options), configuration: configuration)
            let connection: Connection
            do throws(FailedLaunch) { connection = try await launch.connect() } catch {
                output.closeWriting()
                await output.finish(on: options.configuration.loop ?? EventLoop.shared)
                throw FailedStart(
                    error: error.error, end: nil, remains: await HelperRemains(of: error.child, error.status, output))
            }
            output.closeWriting()
            return try await instance(number, connection, output, interface)
        }
    }

    /// Calls a function.
    static func function<I: Interface>(
        _ launch: @escaping @Sendable () async throws -> Connection, _ interface: I.Type
    ) -> HelperLaunch {
        HelperLaunch { number, _, _ in
            try await instance(number, launch(), nil, interface)
        }
    }

    private static func instance<I: Interface>(
        _ number: Int, _ connection: Connection, _ output: HelperOutput?, _ interface: I.Type
    ) async throws -> Supervisor.Instance {
        let output = output ?? HelperOutput(of: connection.child)
        do {
            let root = try await connection.root(as: interface)
            return Supervisor.Instance(
                number: number, connection: connection, root: root.object, output: output)
        } catch {
            // What a helper has that is gone says more than the look-up that has found it gone.
            let end = await connection.ended(timeout: .milliseconds(100))
            await connection.close()
            throw FailedStart(error: error, end: end, remains: await HelperRemains(of: connection, output))
        }
    }
}

/// The error of a helper that could not be connected, or has no root.
struct FailedStart: Error {
    let error: any Error
    let end: ConnectionEnd?
    let remains: HelperRemains
}

extension Supervision.End {
    /// The status with which a program says that it must not be started again, as those of shells and `git bisect`.
    private static let statusOfNoRestart: Int32 = 125

    /// The end of a connected process.
    ///
    /// - Parameters:
    ///   - end: The end of its connection.
    ///   - status: How the process has ended; nil if it is none, or has not.
    ///   - silence: How long it has not answered, if it was ended for that.
    init(_ end: ConnectionEnd, _ status: ChildProcess.ExitStatus?, silence: Duration?) {
        switch (end, status) {
        case (_, .exited(Self.statusOfNoRestart)?):
            self = .hopeless("it has exited with status \(Self.statusOfNoRestart)")
        case (.protocolViolation(let text), _): self = .violation(text)
        case (.refused(let text), _): self = .hopeless("it has refused the connection: \(text)")
        case (.refusedHere(let text), _): self = .hopeless("it was refused: \(text)")
        case (_, .exited(0)?), (.closedByPeer, nil), (.closedHere, nil): self = .orderly
        case (_, let status?):
            let hung = silence.map { "it had not answered for \($0), and " } ?? ""
            switch status {
            case .exited(let number):
                self = .failed("\(hung.isEmpty ? "it" : hung + "it") has exited with status \(number)")
            case .signalled, .unknown: self = .failed("\(hung.isEmpty ? "it" : hung + "it") was ended by \(status)")
            }
        case (_, nil): self = .failed("its connection has ended: \(end)")
        }
    }

    /// The failure of a start.
    init(startingFailed error: any Error) {
        let failed = error as? FailedStart
        let cause = failed?.error ?? error
        guard let known = cause as? ConnectionError else {
            self = .failed("it could not be started: \(cause)")
            return
        }
        switch (known.code, failed?.end) {
        case (.interfaceMismatch, _), (.noSuchRoot, _), (.peerRefused, _): self = .hopeless("\(known)")
        case (.transport, _) where (known.underlying as? TransportError)?.isShortage ?? false:
            self = .shortage("\(known)")
        case (.transport, _) where (known.underlying as? TransportError)?.code == .launchFailed:
            self = .hopeless("\(known)")
        case (.protocolViolation, _): self = .violation(known.message)
        case (_, let end?): self = Self(end, failed?.remains.status, silence: nil)
        case (_, nil):
            self =
                failed?.remains.status == .exited(Self.statusOfNoRestart) ? .hopeless("\(known)") : .failed("\(known)")
        }
    }
}

extension TransportError {
    /// Whether the system may be able to do later what it could not do now; not whether a peer may.
    fileprivate var isShortage: Bool {
        switch (code, errno) {
        case (.launchFailed, EAGAIN), (.system, EAGAIN): true
        case (_, ENOMEM), (_, EMFILE), (_, ENFILE), (_, ETXTBSY): true
        default: false
        }
    }
}
