import CPortShims
import DistantObjects
import DistantTesting
import Formatting
import Foundation
import PortTransport
import Synchronization
import TestSupport
import Testing

@Suite("The code of the guide for programs that speak JSON", .bounded())
struct ComingFromJSONTests {
    private static let source = "func f() {\nreturn\n}"
    private static let result = "func f() {\n    return\n}"

    private let scratch: TemporaryFolder

    init() throws { scratch = try TemporaryFolder() }

    // MARK: Before

    /// A worker that speaks JSON, with the ends of its pipes.
    private struct JSONWorker {
        let child: ChildProcess
        let input: FileHandle
        let output: FileHandle
        /// Keeps the pipe open for writing when the worker has died.
        private let reading: FileHandle

        init(_ arguments: [String] = []) throws {
            var (toWorker, fromWorker): ([CInt], [CInt]) = ([-1, -1], [-1, -1])
            try #require(port_pipe(&toWorker) == 0 && port_pipe(&fromWorker) == 0)
            input = FileHandle(fileDescriptor: toWorker[1], closeOnDealloc: true)
            output = FileHandle(fileDescriptor: fromWorker[0], closeOnDealloc: true)
            reading = FileHandle(fileDescriptor: toWorker[0], closeOnDealloc: true)
            defer { port_close(fromWorker[1]) }
            var options = ChildProcess.Options()
            options.standardInput = toWorker[0]
            options.standardOutput = fromWorker[1]
            child = try ChildProcess.launch(
                Array(try builtProgram("formatter-json").utf8), arguments: arguments, options: options
            ).0
        }
    }

    /// Files that are formatted, and one that is not.
    private func files(_ count: Int) throws -> [String] {
        try (0..<count).map { number in
            let path = scratch.path("\(number)")
            try (number == 0 ? Self.source : Self.result).write(toFile: path, atomically: false, encoding: .utf8)
            return path
        }
    }

    @Test("A worker that speaks JSON answers, fails with a text, and reports its progress")
    func answersInJSON() async throws {
        let worker = try JSONWorker()
        let formatter = JSONFormatter(input: worker.input, output: worker.output)
        #expect(try await formatter.format(Self.source) == Self.result)
        let error = await #expect(throws: WorkerFailed.self) { try await formatter.format("}") }
        #expect(error?.message == "unbalanced(line: 1)")
        let progress = Mutex<[Int]>([])
        let count = try await formatter.check(try files(3)) { done in progress.withLock { $0.append(done) } }
        #expect(count == 1)
        #expect(progress.withLock { $0 } == [1, 2, 3])
        try worker.input.close()
    }

    @Test("A cancelled task has its worker that speaks JSON stop, and gets a text")
    func cancelledInJSON() async throws {
        let worker = try JSONWorker()
        let formatter = JSONFormatter(input: worker.input, output: worker.output)
        let paths = try files(10)
        // The worker may be done before it reads that it shall stop.
        for round in 1... {
            let many = Array(repeating: paths, count: round * 10).flatMap { $0 }
            let (reports, report) = AsyncStream<Int>.makeStream()
            let task = Task { try await formatter.check(many) { report.yield($0) } }
            _ = await reports.first { _ in true }
            task.cancel()
            do { _ = try await task.value } catch let error as WorkerFailed {
                #expect(error.message == "CancellationError()")
                break
            }
        }
        // A task that was cancelled before sends that first, which the worker does not understand yet.
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await formatter.check(paths) { _ in }
        }
        #expect(try await early.value == 1)
        try worker.input.close()
    }

    @Test("When a worker that speaks JSON dies, those who wait are told no more than that")
    func deadInJSON() async throws {
        let worker = try JSONWorker()
        let formatter = JSONFormatter(input: worker.input, output: worker.output)
        kill(worker.child.pid, SIGSTOP)
        let checking = Task { try await formatter.check([]) { _ in } }
        worker.child.kill()
        await #expect(throws: WorkerGone.self) { try await checking.value }
        await #expect(throws: WorkerGone.self) { try await formatter.format("") }
    }

    @Test("What a worker prints that speaks JSON comes among its answers")
    func printsInJSON() async throws {
        let worker = try JSONWorker(["--verbose"])
        try worker.input.close()
        let output = try #require(try worker.output.readToEnd())
        #expect(String(decoding: output, as: UTF8.self) == "the worker has started\n")
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Reply.self, from: output) }
    }

    @Test("A tool that writes to a dead worker's pipe is ended by SIGPIPE, unless it ignores it")
    func deadWorkersPipe() async {
        await #expect(processExitsWith: .signal(SIGPIPE)) {
            signal(SIGPIPE, SIG_DFL)
            let (toWorker, fromWorker) = (Pipe(), Pipe())
            try toWorker.fileHandleForReading.close()
            let formatter = JSONFormatter(
                input: toWorker.fileHandleForWriting, output: fromWorker.fileHandleForReading)
            _ = try await formatter.format("")
        }
    }

    @Test("A request that cannot be written fails when the worker's output ends", arguments: [false, true])
    func unwrittenRequest(isClosed: Bool) async {
        await #expect(processExitsWith: .success) { [isClosed] in
            signal(SIGPIPE, SIG_IGN)
            let (toWorker, fromWorker) = (Pipe(), Pipe())
            try (isClosed ? toWorker.fileHandleForWriting : toWorker.fileHandleForReading).close()
            let formatter = JSONFormatter(
                input: toWorker.fileHandleForWriting, output: fromWorker.fileHandleForReading)
            let asking = Task { try await formatter.format("") }
            try fromWorker.fileHandleForWriting.close()
            do {
                _ = try await asking.value
                Issue.record("the request was answered")
            } catch is WorkerGone {}
        }
    }

    @Test("JSON has bytes as text, a third longer")
    func bytesInJSON() throws {
        #expect(try JSONEncoder().encode(Data(repeating: 200, count: 3_000)).count == 4_002)
    }

    // Foundation's Process reads beyond the end of memory now and then: see Program.swift.
    @Test(
        "A worker is started by Process, also one that speaks both protocols", .disabled(if: Sanitizer.isActive),
        arguments: ["formatter-json", "formatter-both"])
    func startedByProcess(name: String) async throws {
        let (process, formatter) = try ComingFromJSONCode.launchWithJSON(try builtProgram(name))
        #expect(try await formatter.format(Self.source) == Self.result)
        // The threads of tests block most signals, and so does what they start.
        kill(process.processIdentifier, SIGKILL)
    }

    // MARK: After

    private func connected<Value>(
        _ arguments: [String] = [], errors: String? = nil,
        _ body: (Connection, Remote<FormatterInterface>) async throws -> Value
    ) async throws -> Value {
        let file = errors.map { open($0, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600) }
        defer { if let file { close(file) } }
        let connection = try await Connection.launch(
            try builtProgram("formatter-worker"), arguments: arguments, standardError: file, configuration: .patient)
        return try await withConnection(connection, closeTimeout: TestTimeout.wait) { connection in
            try await body(connection, try await connection.root(as: FormatterInterface.self))
        }
    }

    @Test("The tool of the guide: a call, and an error with its type")
    func afterJSON() async throws {
        #expect(try await ComingFromJSONCode.call(try builtProgram("formatter-worker"), Self.source) == Self.result)
        try await connected { _, formatter in
            #expect(await ComingFromJSONCode.failure(formatter, Self.source) == Self.result)
            #expect(await ComingFromJSONCode.failure(formatter, "{\n}\n}") == "a brace is wrong in line 3")
            let traced = try await ComingFromJSONCode.traced(formatter, Self.source)
            #expect(traced == Self.result)
            await #expect(throws: FormatError.unbalanced(line: 1)) {
                try await ComingFromJSONCode.traced(formatter, "}")
            }
        }
    }

    @Test("The tool of the guide: progress, a stream, a call back, large data, and a cancelled call")
    func newsAfterJSON() async throws {
        let paths = try files(3)
        let editor = ComingFromJSONCode.Editor()
        try await connected { _, formatter in
            let fractions = Mutex<[Double]>([])
            let count = try await ComingFromJSONCode.progress(formatter, paths) { fraction in
                fractions.withLock { $0.append(fraction ?? -1) }
            }
            #expect(count == 1)
            let isDone = try await eventually { fractions.withLock { $0.last } == 1 }
            #expect(isDone)
            var found: [String] = []
            try await ComingFromJSONCode.stream(formatter, paths) { found.append($0) }
            #expect(found == [paths[0]])
            let narrow = try await ComingFromJSONCode.callBack(formatter, Self.source, editor)
            #expect(narrow == "func f() {\n  return\n}")
            let isShown = try await eventually { editor.shown.withLock { !$0.isEmpty } }
            #expect(isShown)
            let text = try await ComingFromJSONCode.large(formatter, paths[0])
            #expect(text == Data(Self.result.utf8))
            let reporter = ProgressReporter(to: ProgressReceiver { _ in })
            await #expect(throws: CancellationError.self) {
                try await ComingFromJSONCode.cancel(formatter, paths, reporter)
            }
        }
        #expect(editor.shown.withLock { $0 } == ["formatting with a width of 2"])
    }

    @Test("While a method that gives way works on a request, the next one is answered")
    func severalAfterJSON() async throws {
        let paths = try files(10)
        try await connected { _, formatter in
            // The first request may be done before the next one comes.
            for round in 1... {
                let many = Array(repeating: paths, count: round * 10).flatMap { $0 }
                let (reports, report) = AsyncStream<Int64>.makeStream()
                let reporter = ProgressReporter(to: ProgressReceiver { report.yield($0.completed) })
                let (answers, answer) = AsyncStream<String>.makeStream()
                let checking = Task {
                    let count = try await formatter.check(many, reporter)
                    answer.yield("check")
                    return count
                }
                _ = await reports.first { _ in true }
                _ = try await formatter.format(Self.source)
                answer.yield("format")
                let count = try await checking.value
                #expect(count == round * 10)
                if await answers.first(where: { _ in true }) == "format" { break }
            }
        }
    }

    @Test("What a worker prints goes to standard error, and is lost if it is killed before that is written")
    func printsAfterJSON() async throws {
        let (closed, killed) = (scratch.path("closed"), scratch.path("killed"))
        try await connected(["--verbose"], errors: closed) { _, _ in }
        #expect(try String(contentsOfFile: closed, encoding: .utf8) == "the worker has started\n")
        try await connected(["--verbose"], errors: killed) { connection, formatter in
            _ = try await formatter.format("")
            connection.child?.kill()
            // The end waits a second for the status, which may come later on a busy machine.
            guard case .lost = await connection.ended else {
                Issue.record("\(await connection.ended)")
                return
            }
            #expect(await connection.child?.waitForExit() == .signalled(SIGKILL))
        }
        #expect(try String(contentsOfFile: killed, encoding: .utf8).isEmpty)
    }

    @Test("A worker that nobody has launched says so, and exits with 1")
    func launchedByHand() async throws {
        let outcome = try await Program.run("formatter-worker", [], in: scratch)
        #expect(outcome.status == 1 && outcome.errors.contains("another program has to launch it"), "\(outcome.errors)")
    }

    @Test("The worker's object is tested without a process, and the options of the guide are those it says")
    func testedAfterJSON() async throws {
        #expect(try await ComingFromJSONCode.test(Self.source) == Self.result)
        let options = ComingFromJSONCode.options()
        #expect(options.standardError == .prefixed("formatter:") && options.unresponsiveAfter == .seconds(10))
    }

    // MARK: On the way

    @Test("One worker answers over both protocols, and ends when both have ended")
    func bothProtocols() async throws {
        while true {
            do {
                let status = try await useBoth()
                // On a busy machine it may not have ended in the five seconds that a helper gets.
                if status == .signalled(SIGTERM) { continue }
                #expect(status == .exited(0))
                return
            } catch let error as ConnectionError where error.message.contains("did not finish the handshake") {
                // Nor may it have begun in the five seconds that it has for that.
            }
        }
    }

    private func useBoth() async throws -> ChildProcess.ExitStatus? {
        let (formatter, new, old, input) = try await ComingFromJSONCode.launchBoth(builtProgram("formatter-both"))
        #expect(try await new.format(Self.source) == Self.result)
        #expect(try await old.format(Self.source) == Self.result)
        let child = try #require(formatter.connection?.child)
        try input.fileHandleForWriting.close()
        await formatter.stop(timeout: TestTimeout.wait)
        await #expect(throws: WorkerGone.self) { try await old.format("") }
        return child.exitStatus
    }

    @Test("A worker that listens at a path is looked at with the tool")
    func lookedAtAfterJSON() async throws {
        let path = scratch.socket
        let serving = Task { try await ComingFromJSONCode.listen(path) }
        #expect(try await eventually { FileManager.default.fileExists(atPath: path) })
        var outcome = try await Program.run("distant", ["interfaces", path], in: scratch)
        while outcome.isOfBusyMachine {
            outcome = try await Program.run("distant", ["interfaces", path], in: scratch)
        }
        #expect(outcome.output.contains("    format(String) -> String\n"), "\(outcome.output)\(outcome.errors)")
        serving.cancel()
        _ = try? await serving.value
    }
}
