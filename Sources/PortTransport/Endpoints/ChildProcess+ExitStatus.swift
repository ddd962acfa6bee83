internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension ChildProcess.ExitStatus: CustomStringConvertible {
    /// The status, for example “status 3” or “signal 9 (SIGKILL)”.
    public var description: String {
        switch self {
        case .exited(let status): "status \(status)"
        case .signalled(let number): Self.names[number].map { "signal \(number) (\($0))" } ?? "signal \(number)"
        case .unknown: "unknown status"
        }
    }

    /// The signals that end programs by default and are met in practice.
    private static let names: [Int32: String] = [
        SIGHUP: "SIGHUP", SIGINT: "SIGINT", SIGQUIT: "SIGQUIT", SIGILL: "SIGILL", SIGTRAP: "SIGTRAP",
        SIGABRT: "SIGABRT",
        SIGBUS: "SIGBUS", SIGFPE: "SIGFPE", SIGKILL: "SIGKILL", SIGUSR1: "SIGUSR1", SIGSEGV: "SIGSEGV",
        SIGUSR2: "SIGUSR2", SIGPIPE: "SIGPIPE", SIGALRM: "SIGALRM", SIGTERM: "SIGTERM", SIGXCPU: "SIGXCPU",
        SIGXFSZ: "SIGXFSZ", SIGSYS: "SIGSYS",
    ]
}

extension ChildProcess {
    /// How the process has ended, for a caller who has seen the end of its descriptors.
    ///
    /// The system closes the descriptors of a process shortly before it reports the exit, so the calling thread waits.
    ///
    /// - Parameter limit: How long it waits for a process that goes on.
    package func exitStatus(awaitedFor limit: Duration) -> ExitStatus? {
        let end = ContinuousClock.now + limit
        while true {
            if let exitStatus { return exitStatus }
            var status: Int32 = 0
            switch port_process_look(pid, &status) {
            case 0: break
            // Another thread has reaped it meanwhile.
            case ..<0: return exitStatus
            default: return status < 0 ? .signalled(-status) : .exited(status)
            }
            if ContinuousClock.now > end { return nil }
            var pause = timespec(tv_sec: 0, tv_nsec: 500_000)
            nanosleep(&pause, nil)
        }
    }
}
