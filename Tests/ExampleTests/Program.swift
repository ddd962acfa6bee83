import Foundation
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// One of the example programs, run as a process of its own.
final class Program {
    /// How it ended and what it said.
    struct Outcome {
        /// The exit status, or 128 and the number of the signal that ended it.
        var status: Int32
        var output: String
        var errors: String
    }

    private let process = Process()
    private let input = Pipe()
    private let directory: Scratch
    private let name: String

    /// Starts the program with its output going to files: nothing it says can make it wait.
    ///
    /// A name with a "/" in it is the path of a program that is none of ours.
    init(_ name: String, _ arguments: [String], in directory: Scratch) throws {
        let executable = name.contains("/") ? URL(fileURLWithPath: name) : try Self.url(name)
        self.name = "\(executable.lastPathComponent)-\(UUID().uuidString)"
        self.directory = directory
        process.executableURL = executable
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = try handle("out")
        process.standardError = try handle("err")
        try process.run()
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    var pid: Int32 { process.processIdentifier }
    var output: String { text("out") }
    var errors: String { text("err") }

    /// Runs a program to its end.
    static func run(_ name: String, _ arguments: [String], in directory: Scratch) async throws -> Outcome {
        try await Program(name, arguments, in: directory).finish()
    }

    /// Presses Enter that often.
    func enter(_ times: Int) throws {
        try input.fileHandleForWriting.write(contentsOf: Data(repeating: 10, count: times))
    }

    /// Lets a program that waits at each step run to its end.
    func proceed() throws {
        try input.fileHandleForWriting.close()
    }

    /// Waits until it has ended; one that does not within the limit is killed, and the test fails.
    func finish(within limit: Duration = .seconds(120)) async throws -> Outcome {
        let isOver = try await eventually(within: limit) { !self.process.isRunning }
        if !isOver {
            kill(pid, SIGKILL)
            Issue.record("\(name) hangs; it has said: \(output)\(errors)")
            _ = try await eventually { !self.process.isRunning }
        }
        let isSignal = process.terminationReason == .uncaughtSignal
        return Outcome(status: process.terminationStatus + (isSignal ? 128 : 0), output: output, errors: errors)
    }

    /// Waits until it has written `text` on standard output.
    func waits(for text: String) async throws -> Bool {
        try await eventually { self.output.contains(text) }
    }

    /// The process number the client has named as its server's.
    var launchedServer: Int32? {
        output.firstMatch(of: /runs as process (\d+)\./).flatMap { Int32($0.1) }
    }

    private func handle(_ kind: String) throws -> FileHandle {
        let path = directory.path("\(name).\(kind)")
        try Data().write(to: URL(fileURLWithPath: path))
        return try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    }

    private func text(_ kind: String) -> String {
        (try? String(contentsOfFile: directory.path("\(name).\(kind)"), encoding: .utf8)) ?? ""
    }

    /// The programs are built beside the tests: in one of the folders the running image lies in.
    static func url(_ name: String) throws -> URL {
        let images = [
            Bundle(for: Program.self).bundlePath, "/proc/self/exe", CommandLine.arguments[0],
        ]
        for image in images {
            var folder = URL(fileURLWithPath: image).resolvingSymlinksInPath()
            for _ in 0..<6 {
                let file = folder.appendingPathComponent(name)
                if FileManager.default.isExecutableFile(atPath: file.path) { return file }
                folder.deleteLastPathComponent()
            }
        }
        throw Missing(description: "there is no \(name) beside the tests at \(images)")
    }

    private struct Missing: Error, CustomStringConvertible {
        let description: String
    }
}

/// A new folder with a short name, removed with this object.
final class Scratch: Sendable {
    private let folder: String

    init() throws {
        // A socket's path has room for about a hundred bytes only, so not below a folder with a long name.
        folder = "/tmp/foobar-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit {
        try? FileManager.default.removeItem(atPath: folder)
    }

    func path(_ name: String) -> String { "\(folder)/\(name)" }
}

/// Looks until `condition` holds; whether it came to hold.
func eventually(within limit: Duration = .seconds(120), _ condition: () -> Bool) async throws -> Bool {
    let deadline = ContinuousClock.now + limit
    while !condition() {
        if ContinuousClock.now > deadline { return false }
        try await Task.sleep(for: .milliseconds(10))
    }
    return true
}

/// Whether a process of that number exists and has not ended.
func isAlive(_ pid: Int32) -> Bool {
    guard kill(pid, 0) == 0 else { return false }
    // One that nobody has reaped yet is a name only.
    guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return true }
    return stat.split(separator: ")").last?.hasPrefix(" Z") != true
}
