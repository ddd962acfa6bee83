import DistantObjects
import Foundation
import Integrations
import LineSorting
import Subprocess
import Testing

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

@Suite("Programs that swift-subprocess runs")
struct SubprocessTests {
    @Test("Its standard streams carry calls, and every byte arrives", arguments: [0, 1_000, 70_000, 3 << 20])
    func bytes(count: Int) async throws {
        var lines = RandomLines()
        let text = lines.text(count)
        let program = FilePath(try builtProgram("line-sorter-worker"))
        let (sorted, status) = try await withSubprocess(.path(program), configuration: .patient) { connection in
            let sorter = try await connection.root(as: SorterInterface.self)
            let first = try await sorter.sort(text)
            async let second = sorter.sort(text)
            async let third = sorter.sort(first)
            return try await [first, second, third]
        }
        #expect(sorted == [Data](repeating: text.expectedLines, count: 3))
        #expect(status == .exited(0))
    }

    @Test("An error of the worker comes with its type, and the program ends")
    func workerError() async throws {
        let program = FilePath(try builtProgram("line-sorter-worker"))
        let error = await #expect(throws: SortingError.self) {
            try await withSubprocess(.path(program), configuration: .patient) { connection in
                try await connection.root(as: SorterInterface.self).sortFile("/no/such/file")
            }
        }
        guard case .unreadable("/no/such/file")? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("A program that is no worker is an error, whether it ends, waits or does not exist")
    func noWorkerInSubprocess() async throws {
        let ended = await #expect(throws: ConnectionError.self) {
            try await withSubprocess(.path("/bin/true"), configuration: .patient) { _ in }
        }
        #expect(ended?.code == .closed)
        let silent = await #expect(throws: ConnectionError.self) {
            var configuration = Connection.Configuration()
            configuration.handshakeTimeout = .milliseconds(200)
            try await withSubprocess(.path("/bin/sleep"), arguments: ["1000"], configuration: configuration) { _ in }
        }
        #expect(silent?.code == .handshakeTimeout)
        await #expect(throws: SubprocessError.self) { try await withSubprocess(.path("/no/such/program")) { _ in } }
    }

    @Test("The tool sorts a file by a program that it runs so")
    func toolRuns() async throws {
        let folder = try TemporaryFolder()
        var lines = RandomLines()
        let text = lines.text(200_000)
        try text.write(to: URL(fileURLWithPath: folder.path("lines")))
        let tool = try RunningProgram(
            "line-sorter", ["run", try builtProgram("line-sorter-worker"), folder.path("lines")], in: folder)
        #expect(await tool.status() == 0, "\(tool.log)")
        #expect(tool.output == text.expectedLines)
    }
}
