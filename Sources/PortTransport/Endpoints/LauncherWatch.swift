internal import CPortShims
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Ends this process, and its group, after the process that has launched it, if that wants it: see
/// `ChildProcess.Options.endsWithLauncher`.
package enum LauncherWatch {
    /// The time between the end of the launcher and that of this process, in milliseconds.
    ///
    /// Meanwhile the process can end by itself, because its connection has ended.
    private static let graceTime: CInt = 1_000

    private static let isStarted = Atomic<Bool>(false)

    /// Notes that the connection to the launcher was cut, which is usually because the launcher ends.
    package static func connectionWasCut() { port_process_cut() }

    /// Starts a thread that waits for the end of the launcher, unless there is one.
    ///
    /// If the parent of this process is another one, as of a program that a script has started, nothing is done: the connection
    /// ends with the launcher, too.
    package static func start() {
        guard let text = getenv(ChildProcess.launcherVariable), let launcher = Int32(String(cString: text)),
            getppid() == launcher, !isStarted.exchange(true, ordering: .relaxed)
        else { return }
        _ = port_thread_start(
            { context in
                port_process_end_with(pid_t(Int(bitPattern: context)), LauncherWatch.graceTime)
                return nil
            }, UnsafeMutableRawPointer(bitPattern: Int(launcher)), "distant-leash")
    }
}
