import DistantObjects
import Foundation
import Testing

@Suite("README")
struct ReadmeTests {
    /// A part of a package's manifest, which only the package manager compiles.
    private static func isManifest(_ block: DocumentedCode.Lines) -> Bool {
        block.contains { $0.hasPrefix("dependencies:") }
    }

    @Test("All code it shows is compiled here, and the other way round")
    func compiled() throws {
        let shown = try DocumentedCode.blocks(of: "README.md").filter { !Self.isManifest($0) }
        let compiled = try DocumentedCode.pieces(of: "README.md", in: ReadmeCode.file)
        #expect(shown.count == compiled.count)
        for block in shown {
            #expect(compiled.values.contains(block), "not compiled as it stands:\n\(block.joined(separator: "\n"))")
        }
        for (name, lines) in compiled {
            #expect(shown.contains(lines), "“\(name)” is not what README.md shows")
        }
    }

    @Test("What it shows of a manifest is one that the package manager takes")
    func manifest() async throws {
        let block = try #require(try DocumentedCode.blocks(of: "README.md").first(where: Self.isManifest))
        let scratch = try Scratch()
        let lines = [
            "// swift-tools-version: 6.2", "import PackageDescription", "let package = Package(", "name: \"tool\",",
        ]
        let text = (lines + block + [")"]).joined(separator: "\n")
        try text.write(toFile: scratch.path("Package.swift"), atomically: true, encoding: .utf8)
        let outcome = try await Program.run(
            "/usr/bin/env",
            [
                "swift", "package", "--package-path", scratch.path("."), "--scratch-path", scratch.path("build"),
                "--disable-sandbox", "dump-package",
            ], in: scratch)
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output.contains("\"DistantObjects\""))
    }

    @Test("The sender and the receiver do what it says")
    func sample() async {
        await #expect(processExitsWith: .success) {
            // Its path is a relative one.
            let scratch = try Scratch()
            try #require(FileManager.default.changeCurrentDirectoryPath(scratch.path(".")))
            let receiving = Task { try await ReadmeCode.receive() }
            var count: Int?
            while count == nil {
                do {
                    count = try await ReadmeCode.send()
                } catch let error as ConnectionError where [.transport, .handshakeTimeout].contains(error.code) {
                    // The receiver is not there yet, or the machine is busy.
                    try await Task.sleep(for: .milliseconds(10))
                }
            }
            #expect(count == 1)
            receiving.cancel()
            try await receiving.value
        }
    }
}
