import Foundation

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

    /// Runs a program to its end.
    ///
    /// - Returns: What it printed on both of its outputs.
    private static func run(_ program: String, _ arguments: [String]) async throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        let output = Pipe()
        process.standardError = output
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        return try await onThread {
            String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        }
    }
}
