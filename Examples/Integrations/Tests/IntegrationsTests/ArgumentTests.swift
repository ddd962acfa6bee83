import ArgumentParser
import DistantObjects
import Foundation
import Integrations
import LineSorting
import Testing

@Suite("Options by swift-argument-parser")
struct ArgumentTests {
    @Test(
        "An address is read from its text",
        arguments: ["com.example.sorter", "/run/s.sock", "unix:s.sock", "exec:worker", "ssh-exec:host:worker --fast"])
    func address(text: String) throws {
        let options = try ServiceOptions.parse(["--at", text, "--timeout", "2.5"])
        #expect(options.at == (try ConnectionAddress(text)))
        #expect(options.timeout == 2.5)
    }

    @Test("The message for a wrong address says what is wrong with it")
    func wrongAddress() async throws {
        let error = #expect(throws: (any Error).self) { try ServiceOptions.parse(["--at", "ftp:x"]) }
        let message = ServiceOptions.message(for: try #require(error))
        #expect(message.contains("ftp:x") && message.contains("begins no address"), "\(message)")
        let folder = try TemporaryFolder()
        let tool = try RunningProgram("line-sorter", ["sort", "--at", ".x", "file"], in: folder)
        #expect(await tool.status() == 64)
        #expect(tool.log.contains("begins with neither dot nor hyphen"), "\(tool.log)")
    }

    @Test("A time-out on the command line ends a call")
    func timeout() async throws {
        let folder = try TemporaryFolder()
        let listener = try Listener(at: .path(folder.path("s")), configuration: .patient)
        let sorter = HeldSorter()
        let serving = Task { for await connection in listener { try connection.vend(sorter) } }
        let options = try ServiceOptions.parse(["--at", folder.path("s"), "--timeout", "0.05"])
        try await withConnection(options.open(.patient)) { connection in
            let remote = try await connection.root(as: SorterInterface.self)
            let error = await #expect(throws: ConnectionError.self) { try await remote.sort(Data()) }
            #expect(error?.code == .deadlineExceeded)
        }
        listener.close()
        try await serving.value
        await sorter.answer()
    }

    @Test("The help of the tool names its commands, and that of a command its options")
    func help() async throws {
        let folder = try TemporaryFolder()
        for (arguments, words) in [
            (["--help"], ["serve", "sort", "run"]), (["sort", "--help"], ["--at <address>", "--timeout <seconds>"]),
        ] {
            let tool = try RunningProgram("line-sorter", arguments, in: folder)
            #expect(await tool.status() == 0)
            let text = String(decoding: tool.output, as: UTF8.self)
            for word in words { #expect(text.contains(word), "\(text)") }
        }
    }
}
