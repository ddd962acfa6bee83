import CPortShims
import Foundation
import Synchronization
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// A process that runs one of the example programs.
///
/// Not by Foundation's `Process`, which on Linux now and then reads beyond the end of memory when it starts a program:
/// it copies whole directory entries out of a buffer that ends earlier.
final class Program {
    /// The exit status and the output of a process.
    struct Outcome {
        /// The exit status, or 128 and the number of the signal that ended it.
        var status: Int32
        var output: String
        var errors: String

        /// Whether a limit of the library has passed that the program takes over, as on a busy machine.
        var isOfBusyMachine: Bool {
            ["no answer came within", "did not finish the handshake"].contains { errors.contains($0) }
        }
    }

    var pid: pid_t { exit.pid }
    private let directory: TemporaryFolder
    private let name: String
    private var input: FileHandle?
    private let exit: ProgramExit

    /// Starts the program with its output in files, so that output never blocks it.
    ///
    /// A name with a "/" is the path of a program outside the package.
    ///
    /// - Parameters:
    ///   - terminal: A descriptor for standard error; nil for a file.
    ///   - patience: How many seconds the programs of the examples FooBar and Whiteboard wait for each other.
    init(
        _ name: String, _ arguments: [String], in directory: TemporaryFolder, terminal: String? = nil,
        patience: Duration = TestTimeout.wait
    ) throws {
        let executable = URL(fileURLWithPath: name.contains("/") ? name : try builtProgram(name))
        self.name = "\(executable.lastPathComponent)-\(UUID().uuidString)"
        self.directory = directory
        // Both ends are close-on-exec, so that no other test's program holds this one's input open.
        var ends: [CInt] = [-1, -1]
        guard port_pipe(&ends) == 0 else { throw Missing(description: "there is no pipe to be had") }
        input = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
        defer { close(ends[0]) }
        let (output, errors) = (directory.path("\(self.name).out"), terminal ?? directory.path("\(self.name).err"))
        exit = ProgramExit(of: try Self.spawn(executable.path, arguments, patience, ends[0], output, errors))
    }

    deinit { exit.kill() }

    var output: String { text("out") }
    var errors: String { text("err") }

    /// Runs a program to its end.
    static func run(
        _ name: String, _ arguments: [String], in directory: TemporaryFolder, patience: Duration = TestTimeout.wait
    ) async throws -> Outcome {
        try await Program(name, arguments, in: directory, patience: patience).finish()
    }

    /// Kills it, unless it has ended.
    func kill() { exit.kill() }

    /// Presses Enter this many times.
    func enter(_ times: Int) throws {
        try input?.write(contentsOf: Data(repeating: 10, count: times))
    }

    /// Lets a program that pauses at each step run to its end.
    func proceed() throws {
        try input?.close()
        input = nil
    }

    /// Waits for the end of the program.
    ///
    /// If it takes longer than the limit, it is killed and the test fails.
    func finish(within limit: Duration = TestTimeout.wait) async throws -> Outcome {
        let isOver = try await eventually(within: limit) { self.exit.status != nil }
        if !isOver {
            exit.kill()
            Issue.record("\(name) hangs; it has said: \(output)\(errors)")
            _ = try await eventually { self.exit.status != nil }
        }
        return Outcome(status: exit.status ?? -1, output: output, errors: errors)
    }

    private static func spawn(
        _ path: String, _ arguments: [String], _ patience: Duration, _ input: CInt, _ output: String, _ errors: String
    ) throws -> pid_t {
        #if canImport(Glibc)
            var actions = posix_spawn_file_actions_t()
            var attributes = posix_spawnattr_t()
        #else
            var actions: posix_spawn_file_actions_t?
            var attributes: posix_spawnattr_t?
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // The threads of tests block most signals, and a program would inherit that.
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        posix_spawn_file_actions_adddup2(&actions, input, 0)
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY
        posix_spawn_file_actions_addopen(&actions, 1, output, flags, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, errors, flags, 0o600)
        var environment = ProcessInfo.processInfo.environment
        for name in ["FOOBAR_PATIENCE", "WHITEBOARD_PATIENCE"] { environment[name] = "\(patience / .seconds(1))" }
        // After so many seconds a helper that hangs is killed. Each run waits for that, so it is not longer.
        environment["SYNTAX_PATIENCE"] = "5"
        var words = ([path] + arguments).map { strdup($0) } + [nil]
        var variables = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for string in words + variables { free(string) } }
        var pid: pid_t = 0
        let number = posix_spawn(&pid, path, &actions, &attributes, &words, &variables)
        guard number == 0 else {
            throw Missing(description: "\(path) cannot be started: \(String(cString: strerror(number)))")
        }
        return pid
    }

    /// Waits until it has written `text` on standard output.
    func waits(for text: String) async throws -> Bool {
        try await eventually { self.output.contains(text) }
    }

    /// The process id of the server, as the client printed it.
    var launchedServer: Int32? {
        output.firstMatch(of: /runs as process (\d+)\./).flatMap { Int32($0.1) }
    }

    private func text(_ kind: String) -> String {
        (try? String(contentsOfFile: directory.path("\(name).\(kind)"), encoding: .utf8)) ?? ""
    }
}

/// The exit status of a process of this one, which a thread waits for.
///
/// The testing library's thread that waits for the processes of exit tests does nothing but look again as long as another process of
/// this one has ended and was not reaped: it takes a whole processor, and no exit test ends.
private final class ProgramExit: Sendable {
    let pid: pid_t
    /// The exit status, or 128 and the number of the signal; nil while the process runs.
    private let known = Mutex<Int32?>(nil)

    init(of pid: pid_t) {
        self.pid = pid
        Thread.detachNewThread { self.wait() }
    }

    var status: Int32? { known.withLock { $0 } }

    func kill() {
        // Once it is reaped, another process may have its number.
        known.withLock { if $0 == nil { _ = Foundation.kill(pid, SIGKILL) } }
    }

    private func wait() {
        var ended = siginfo_t()
        while waitid(P_PID, id_t(pid), &ended, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        known.withLock { known in
            var raw: Int32 = 0
            waitpid(pid, &raw, 0)
            let signal = raw & 0x7F
            known = signal == 0 ? (raw >> 8) & 0xFF : 128 + signal
        }
    }
}

private struct Missing: Error, CustomStringConvertible {
    let description: String
}

/// Waits until a condition holds, and returns whether it does.
func eventually(within limit: Duration = TestTimeout.wait, _ condition: () -> Bool) async throws -> Bool {
    let deadline = ContinuousClock.now + limit
    while !condition() {
        if ContinuousClock.now > deadline { return false }
        try await Task.sleep(for: .milliseconds(10))
    }
    return true
}

/// Whether a process with that id exists and has not ended.
func isAlive(_ pid: Int32) -> Bool {
    guard kill(pid, 0) == 0 else { return false }
    // A zombie has ended.
    guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else {
        // There is no such folder, or the process has been reaped since.
        return kill(pid, 0) == 0
    }
    return stat.split(separator: ")").last?.hasPrefix(" Z") != true
}
