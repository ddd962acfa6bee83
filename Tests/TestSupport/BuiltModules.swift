import Foundation
import PortTransport

/// The modules of this build, for sources that a test has the compiler see.
package enum BuiltModules {
    /// Runs the compiler with these modules.
    ///
    /// - Returns: What it printed; nothing if all went well.
    package static func compile(_ arguments: [String]) async throws -> String {
        let folder = try folder
        return try await run(
            "/usr/bin/env",
            ["swiftc", "-swift-version", "6"] + arguments + [
                "-I", folder.appendingPathComponent("Modules").path, "-Xcc",
                "-fmodule-map-file=\(folder.appendingPathComponent("CPortShims.build/module.modulemap").path)",
            ])
    }

    /// What a program that uses the library is linked with.
    package static var objects: [String] {
        get throws {
            let folder = try folder
            return try ["DistantObjects", "KeyedArchive", "PortTransport", "CPortShims"].flatMap { module in
                let objects = folder.appendingPathComponent("\(module).build")
                let sources = try self.sources(of: module)
                return try FileManager.default.contentsOfDirectory(atPath: objects.path).sorted()
                    // That of a source which was renamed stays in the folder.
                    .filter { $0.hasSuffix(".o") && sources.contains(String($0.dropLast(2))) }
                    .map { objects.appendingPathComponent($0).path }
            }
        }
    }

    /// The names of a module's source files.
    private static func sources(of module: String) throws -> Set<String> {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { root.deleteLastPathComponent() }
        let paths = try FileManager.default.subpathsOfDirectory(
            atPath: root.appendingPathComponent("Sources/\(module)").path)
        return Set(paths.map { ($0 as NSString).lastPathComponent })
    }

    /// The folder of the build's products.
    private static var folder: URL {
        get throws { URL(fileURLWithPath: try builtProgram("FooBarServer")).deletingLastPathComponent() }
    }

    /// Runs a program to its end, not by Foundation's `Process`, which reads beyond the end of memory now and then.
    ///
    /// - Returns: What it printed on both of its outputs.
    private static func run(_ program: String, _ arguments: [String]) async throws -> String {
        let scratch = try TemporaryFolder()
        let path = scratch.path("output")
        let output = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        defer { close(output) }
        var options = ChildProcess.Options()
        options.standardOutput = output
        let child = try ChildProcess.launch(program, arguments: arguments, standardError: output, options: options).0
        _ = await child.waitForExit()
        return try String(contentsOfFile: path, encoding: .utf8)
    }
}
