// swift-format-ignore-file
// It is laid out as ComingFromJSON.md shows it.

import DistantObjects
import DistantTesting
import Formatting
import Foundation
import Synchronization

// ComingFromJSON.md: JSON tool
struct WorkerGone: Error {}
struct WorkerFailed: Error { let message: String }

/// A worker that is asked in JSON.
final class JSONFormatter: Sendable {
    private struct State {
        var lastID = 0
        var waiting: [Int: CheckedContinuation<Reply, any Error>] = [:]
        var progress: [Int: @Sendable (Int) -> Void] = [:]
        var isGone = false
    }

    private let state = Mutex(State())
    private let input: Mutex<FileHandle>

    init(input: FileHandle, output: FileHandle) {
        self.input = Mutex(input)
        Thread.detachNewThread { [self] in
            var bytes = Data()
            while case let piece = output.availableData, !piece.isEmpty {
                bytes += piece
                while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
                    take(bytes[..<end])
                    bytes = Data(bytes[(end + 1)...])
                }
            }
            let waiting = state.withLock { state in
                state.isGone = true
                defer { state.waiting = [:] }
                return state.waiting.values
            }
            for continuation in waiting { continuation.resume(throwing: WorkerGone()) }
        }
    }

    func format(_ text: String) async throws -> String {
        guard case .formatted(_, let text) = try await ask({ .format(id: $0, text: text) }) else { throw WorkerGone() }
        return text
    }

    func check(_ paths: [String], progress: @escaping @Sendable (Int) -> Void) async throws -> Int {
        guard case .checked(_, let count) = try await ask({ .check(id: $0, paths: paths) }, progress) else {
            throw WorkerGone()
        }
        return count
    }

    private func ask(
        _ request: (Int) -> Request, _ progress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> Reply {
        let id = state.withLock { state in
            state.lastID += 1
            state.progress[state.lastID] = progress
            return state.lastID
        }
        defer { _ = state.withLock { $0.progress.removeValue(forKey: id) } }
        let reply = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isGone = state.withLock { state in
                    if !state.isGone { state.waiting[id] = continuation }
                    return state.isGone
                }
                if isGone { continuation.resume(throwing: WorkerGone()) } else { send(request(id)) }
            }
        } onCancel: {
            send(.cancel(id: id))
        }
        if case .failed(_, let message) = reply { throw WorkerFailed(message: message) }
        return reply
    }

    private func send(_ request: Request) {
        guard let line = try? JSONEncoder().encode(request) else { return }
        // If the worker is gone, the end of its output says so.
        input.withLock { input in try? input.write(contentsOf: line + [UInt8(ascii: "\n")]) }
    }

    private func take(_ line: Data) {
        guard let reply = try? JSONDecoder().decode(Reply.self, from: line) else { return }
        switch reply {
        case .progress(let id, let done): state.withLock { $0.progress[id] }?(done)
        case .formatted(let id, _), .checked(let id, _), .failed(let id, _):
            state.withLock { $0.waiting.removeValue(forKey: id) }?.resume(returning: reply)
        }
    }
}
// end

/// The code of ComingFromJSON.md.
enum ComingFromJSONCode {
    static func launchWithJSON(_ program: String) throws -> (Process, JSONFormatter) {
        // ComingFromJSON.md: JSON launch
        let process = Process()
        let (toWorker, fromWorker) = (Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: program)
        process.standardInput = toWorker
        process.standardOutput = fromWorker
        try process.run()
        let formatter = JSONFormatter(
            input: toWorker.fileHandleForWriting, output: fromWorker.fileHandleForReading)
        // end
        return (process, formatter)
    }

    static func call(_ program: String, _ text: String) async throws -> String {
        // ComingFromJSON.md: tool
        let formatter = Helper(FormatterInterface.self, program)
        let result = try await formatter.remote.format(text)
        await formatter.stop()
        // end
        return result
    }

    static func failure(_ formatter: Remote<FormatterInterface>, _ text: String) async -> String {
        // ComingFromJSON.md: errors
        do {
            return try await formatter.format(text)
        } catch FormatError.unbalanced(let line) {
            return "a brace is wrong in line \(line)"
        } catch {
            return "\(error)"
        }
        // end
    }

    static func cancel(_ formatter: Remote<FormatterInterface>, _ paths: [String], _ reporter: ProgressReporter) async throws -> Int {
        // ComingFromJSON.md: cancel
        let checking = Task { try await formatter.check(paths, reporter) }
        checking.cancel()
        let count = try await checking.value            // throws CancellationError
        // end
        return count
    }

    static func progress(_ formatter: Remote<FormatterInterface>, _ paths: [String], _ show: @escaping @Sendable (Double?) -> Void) async throws -> Int {
        // ComingFromJSON.md: progress
        let reporter = ProgressReporter(to: ProgressReceiver { progress in show(progress.fraction) })
        let count = try await formatter.check(paths, reporter)
        // end
        return count
    }

    static func stream(_ formatter: Remote<FormatterInterface>, _ paths: [String], _ show: (String) -> Void) async throws {
        // ComingFromJSON.md: stream
        for try await path in try await formatter.unformatted(paths) { show(path) }
        // end
    }

    // ComingFromJSON.md: editor
    final class Editor: Vendable, Implements {
        typealias I = EditorInterface

        static var messages: MessageTable<Editor> {
            Message(\I.width, Editor.width)
            Message(\I.show, Editor.show)
        }

        func width() -> Int { 2 }
        func show(_ message: String) { shown.withLock { $0.append(message) } }

        let shown = Mutex<[String]>([])
    }
    // end

    static func callBack(_ formatter: Remote<FormatterInterface>, _ text: String, _ editor: Editor) async throws -> String {
        // ComingFromJSON.md: call back
        let result = try await formatter.formatForEditor(text, Remote(vending: editor))
        // end
        return result
    }

    static func large(_ formatter: Remote<FormatterInterface>, _ path: String) async throws -> Data {
        // ComingFromJSON.md: large
        let result = try await formatter.formatBytes(SharedBytes(mappingFile: path))
        let text = Data(result)
        // end
        return text
    }

    static func options() -> HelperOptions {
        // ComingFromJSON.md: options
        var options = HelperOptions()
        options.standardError = .prefixed("formatter:")
        options.unresponsiveAfter = .seconds(10)
        options.configuration.callTimeout = .seconds(60)
        options.configuration.onEvent = { event in print(event) }
        // end
        return options
    }

    static func test(_ source: String) async throws -> String {
        // ComingFromJSON.md: test
        let formatter = Remote(local: SourceFormatter())
        let text = try await formatter.format(source)
        // end
        return text
    }

    static func traced(_ formatter: Remote<FormatterInterface>, _ text: String) async throws -> String {
        // ComingFromJSON.md: logged
        let result = try await logged("format \(text)") { try await formatter.format(text) }
        // end
        return result
    }

    static func launchBoth(
        _ program: String
    ) async throws -> (Helper<FormatterInterface>, Remote<FormatterInterface>, JSONFormatter, Pipe) {
        // ComingFromJSON.md: launch both
        let (toWorker, fromWorker) = (Pipe(), Pipe())
        var options = HelperOptions()
        options.process.standardInput = toWorker.fileHandleForReading.fileDescriptor
        options.process.standardOutput = fromWorker.fileHandleForWriting.fileDescriptor
        let formatter = Helper(FormatterInterface.self, program, restart: .never, options: options)
        let new = try await formatter.running()
        try toWorker.fileHandleForReading.close()
        try fromWorker.fileHandleForWriting.close()
        let old = JSONFormatter(
            input: toWorker.fileHandleForWriting, output: fromWorker.fileHandleForReading)
        // end
        return (formatter, new, old, toWorker)
    }

    static func stopBoth(_ formatter: Helper<FormatterInterface>, _ toWorker: Pipe) async throws {
        // ComingFromJSON.md: stop both
        try toWorker.fileHandleForWriting.close()
        await formatter.stop()
        // end
    }

    static func listen(_ path: String) async throws {
        // ComingFromJSON.md: listen
        for await connection in try Listener(at: .path(path)) { try connection.vend(SourceFormatter()) }
        // end
    }
}

// ComingFromJSON.md: log
nonisolated(nonsending) func logged<Result>(
    _ name: String, _ call: nonisolated(nonsending) () async throws -> Result
) async throws -> Result {
    do {
        let result = try await call()
        print("\(name) -> \(result)")
        return result
    } catch {
        print("\(name) threw \(error)")
        throw error
    }
}
// end
