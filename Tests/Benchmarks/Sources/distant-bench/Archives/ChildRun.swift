import Foundation

/// Runs another process to its end.
struct ChildRun {
    let output: String

    init(_ executable: String, _ arguments: [String]) throws {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: executable)
        process.arguments = arguments
        process.standardOutput = pipe
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw BenchError("\(executable) ended with \(process.terminationStatus)")
        }
        output = String(decoding: data, as: UTF8.self)
    }
}
