import DistantObjects
import Foundation
import TestSupport
import Testing

#if canImport(FoundationCoding)
    import FoundationCoding
#endif

@Suite("The commands in the README and the articles", .bounded())
struct CommandTests {
    /// Commands that are not run here, and why.
    private static let excluded: [String: String] = {
        let build = "builds what these tests are built from"
        let check = "is a step of .ci/run"
        return [
            "swift build                                   # the libraries, the tool, the examples": build,
            "swift test": "runs these tests",
            "swift test                                    # all tests, debug": "runs these tests",
            "swift test --filter \"CancellationTests\"       # one suite": "runs some of these tests",
            "swift test -c release -Xswiftc -warnings-as-errors": check,
            ".ci/run": "runs these tests",
            ".ci/docs": check,
            "python3 -m http.server --directory .build/documentation 8000": "serves until it is stopped",
            "swift run -c release torture --seconds 60": check,
            "swift run -c release soak --seconds 600": check,
            "swift run -c release soak crowd": check,
            "swift run -c release release-model": check,
            "swift run -c release --package-path Tests/Benchmarks distant-bench --quick": check,
            "swift run FooBarClient --at ssh-exec:HOST:PATH            # a server on another machine, started over ssh":
                "needs another machine",
            "sqlite3 chat.db \"select hex(attributedBody) from message where rowid = 7\" | xxd -r -p | swift run distant dump -":
                "needs a database of Apple's Messages",
        ]
    }()

    private static let documents = DocumentedCode.documents.keys.sorted()

    /// The folder that a reader is in: a clone of the package, and what the text says is there.
    private static func clone(for document: String) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        for name in ["Package.swift", "README.md", "Sources", "Tests", "Examples", ".ci"] {
            try FileManager.default.createSymbolicLink(
                atPath: folder.path(name), withDestinationPath: DocumentedCode.root + "/" + name)
        }
        #if canImport(FoundationCoding)
            if document == "OlderArchives.md" {
                let object: NSDictionary = ["one": NSNumber(value: 1), "two": "zwei"]
                try NSCodingTypedStreamArchiver.archivedData(withRootObject: object)
                    .write(to: URL(fileURLWithPath: folder.path("a.ts")))
                let archiver = NSCodingSequentialArchiver()
                archiver.encode(object)
                try Data(archiver.graph().bytes(format: .xml)).write(to: URL(fileURLWithPath: folder.path("a.plist")))
            }
        #endif
        return folder
    }

    /// Runs commands one after the other in one shell.
    ///
    /// - Returns: The exit status and the output of each.
    private static func run(
        _ commands: [DocumentedCommand], in folder: TemporaryFolder
    ) async throws -> [(status: Int?, output: [String])] {
        // Standard input is a pipe that nothing comes from.
        var script = "cd '\(folder.path)' || exit\nexec 2>&1 </dev/null\n"
        // A reader has a folder for services.
        script += "export XDG_RUNTIME_DIR='\(folder.path)'\n"
        for command in commands {
            script += "\(try command.shell(program: builtProgram))\necho \"=== $?\"\n"
            if let path = command.text.firstMatch(of: #/--path (\S+) &/#) {
                // A reader needs longer for the next line.
                script += "until [ -S '\(path.1)' ]; do kill -0 $! || exit; sleep 0.01; done\n"
            }
        }
        let scratch = try TemporaryFolder()
        let outcome = try await Program.run("/bin/sh", ["-c", script + "wait\n"], in: scratch)
        var results: [(status: Int?, output: [String])] = []
        var lines: [String] = []
        for line in outcome.output.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("=== ") {
                results.append((Int(line.dropFirst(4)), lines))
                lines = []
            } else {
                lines.append(String(line))
            }
        }
        return results
    }

    @Test("Each command works as it stands, and prints what the document shows", arguments: documents)
    func works(document: String) async throws {
        #if !canImport(FoundationCoding)
            if document == "OlderArchives.md" { return }
        #endif
        let commands = try DocumentedCommand.all(in: document).filter { Self.excluded[$0.text] == nil }
        guard !commands.isEmpty else { return }
        var results: [(status: Int?, output: [String])]
        repeat {
            let folder = try Self.clone(for: document)
            let service = try Service(in: document, folder)
            results = try await Self.run(commands, in: folder)
            await service?.close()
            // The service is in this process, which may get no time for as long as the tool waits.
        } while results.contains { $0.output.contains { $0.contains("did not finish the handshake") } }
        #expect(results.count == commands.count)
        for (command, result) in zip(commands, results) {
            #expect(result.status == 0, "\(command.text):\n\(result.output.joined(separator: "\n"))")
            if let output = command.output { #expect(result.output == output, "\(command.text)") }
        }
    }

    @Test("Each command that is not run is in a document")
    func exclusions() throws {
        let all = Set(try Self.documents.flatMap { try DocumentedCommand.all(in: $0).map(\.text) })
        #expect(Set(Self.excluded.keys).subtracting(all) == [])
        #expect(all.count > 20)
    }

    /// The running service that a document looks at.
    private final class Service: Sendable {
        private let listener: Listener
        private let serving: Task<Void, Never>

        /// Returns nil if the document looks at none.
        init?(in document: String, _ folder: TemporaryFolder) throws {
            let path: String
            // The root is there before any task runs, which may take a minute on a busy machine.
            var configuration = Connection.Configuration.patientExample
            switch document {
            case "CheckedCalls.md":
                path = folder.path("bank.sock")
                configuration.roots = ["": CheckedCallsCode.Bank()]
            case "InsteadOfDBus.md":
                // Where a service of that name is, for programs whose folder of services this is.
                try FileManager.default.createDirectory(
                    atPath: folder.path("distant"), withIntermediateDirectories: false,
                    attributes: [.posixPermissions: 0o700])
                path = folder.path("distant/com.example.Backup1")
                configuration.roots = ["": InsteadOfDBusCode.Backup()]
            default: return nil
            }
            let listener = try Listener(at: .path(path), configuration: configuration)
            self.listener = listener
            serving = Task { for await _ in listener {} }
        }

        func close() async {
            listener.close()
            await serving.value
        }
    }
}
