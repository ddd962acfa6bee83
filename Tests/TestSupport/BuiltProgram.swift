import Foundation

/// The path of a program of this package, which is built into the same folder as the tests.
package func builtProgram(_ name: String) throws -> String {
    let images = [Bundle(for: TemporaryFolder.self).bundlePath, "/proc/self/exe", CommandLine.arguments[0]]
    for image in images {
        var folder = URL(fileURLWithPath: image).resolvingSymlinksInPath()
        for _ in 0..<6 {
            let file = folder.appendingPathComponent(name)
            if FileManager.default.isExecutableFile(atPath: file.path) { return file.path }
            folder.deleteLastPathComponent()
        }
    }
    throw MissingProgram(description: "there is no \(name) next to the tests at \(images)")
}

private struct MissingProgram: Error, CustomStringConvertible {
    let description: String
}
