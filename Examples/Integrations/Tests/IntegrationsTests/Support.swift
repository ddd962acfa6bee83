import DistantObjects
import Foundation
import LineSorting
import Synchronization
import Testing

/// A program of this package.
func builtProgram(_ name: String) throws -> String {
    var folder = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
    for _ in 0..<6 {
        let file = folder.appendingPathComponent(name)
        if FileManager.default.isExecutableFile(atPath: file.path) { return file.path }
        folder.deleteLastPathComponent()
    }
    throw Missing(description: "there is no \(name) near \(CommandLine.arguments[0])")
}

struct Missing: Error, CustomStringConvertible {
    let description: String
}

/// A folder that is removed when this is freed.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("integrations-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path
    }

    func path(_ name: String) -> String { "\(path)/\(name)" }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// A process of a test, which is killed when this is freed.
///
/// `process` is not `Sendable`: it is configured in `init` alone, by one thread.
final class RunningProgram: @unchecked Sendable {
    private let process = Process()
    private let exit: AsyncStream<Int32>
    let logFile: String
    let outputFile: String

    /// Starts a program whose standard output and error go to files.
    init(_ name: String, _ arguments: [String], in folder: TemporaryFolder) throws {
        logFile = folder.path("\(name)-\(UUID().uuidString).log")
        outputFile = logFile + ".out"
        for file in [logFile, outputFile] { _ = FileManager.default.createFile(atPath: file, contents: nil) }
        process.executableURL = URL(fileURLWithPath: try builtProgram(name))
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle(forWritingAtPath: outputFile)
        process.standardError = FileHandle(forWritingAtPath: logFile)
        let (exit, continuation) = AsyncStream<Int32>.makeStream()
        self.exit = exit
        process.terminationHandler = {
            continuation.yield($0.terminationReason == .exit ? $0.terminationStatus : -$0.terminationStatus)
            continuation.finish()
        }
        try process.run()
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    /// Asks the program to end.
    func terminate() { process.terminate() }

    /// Its exit status, or its signal as a negative number.
    func status() async -> Int32 {
        for await status in exit { return status }
        return -1
    }

    var log: String { (try? String(contentsOfFile: logFile, encoding: .utf8)) ?? "" }
    var output: Data { (try? Data(contentsOf: URL(fileURLWithPath: outputFile))) ?? Data() }
}

/// Waits until the condition holds.
func eventually(_ what: Comment, _ condition: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(120)
    while try await !condition() {
        try #require(ContinuousClock.now < deadline, what)
        try await Task.sleep(for: .milliseconds(5))
    }
}

extension Connection.Configuration {
    /// For a machine that may be busy.
    static var patient: Connection.Configuration {
        var configuration = Connection.Configuration()
        configuration.handshakeTimeout = .seconds(120)
        return configuration
    }
}

/// Lines of random length, from a seed that is printed.
struct RandomLines {
    private var state: UInt64

    init(seed: UInt64 = .random(in: 0...UInt64.max)) {
        print("the seed of the lines is \(seed)")
        state = seed
    }

    private mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state >> 33
    }

    /// About that many bytes, with an end of line at the end.
    mutating func text(_ count: Int) -> Data {
        var text = Data()
        while text.count < count {
            for _ in 0..<(1 + next() % 60) { text.append(UInt8(11 + next() % 245)) }
            text.append(UInt8(ascii: "\n"))
        }
        return text
    }
}

extension Data {
    /// What a sorter has to return, made in another way than it does.
    var expectedLines: Data {
        var lines: [[UInt8]] = [[]]
        for byte in self {
            if byte == UInt8(ascii: "\n") { lines.append([]) } else { lines[lines.count - 1].append(byte) }
        }
        let sorted = lines.filter { !$0.isEmpty }.sorted { $0.lexicographicallyPrecedes($1) }
        return Data(sorted.flatMap { $0 + [UInt8(ascii: "\n")] })
    }
}

/// Answers when the test says so.
actor HeldSorter: Vendable, Implements {
    typealias I = SorterInterface

    static var messages: MessageTable<HeldSorter> {
        Message(\I.sort) { await $0.sort($1) }
        Message(\I.sortFile) { try await $0.sortFile($1) }
    }

    private var waiting: [CheckedContinuation<Void, Never>] = []
    var count: Int { waiting.count }

    func sort(_ text: Data) async -> Data {
        await withCheckedContinuation { waiting.append($0) }
        return text.withSortedLines
    }

    func sortFile(_ path: String) throws -> Data { throw SortingError.unreadable(path) }

    func answer() {
        for continuation in waiting { continuation.resume() }
        waiting = []
    }
}
