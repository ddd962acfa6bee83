import Foundation

/// A folder with the helper's program, which a newer build can replace while the helper runs.
struct Installation: Sendable {
    private let folder: URL
    private let helper: URL

    /// The path of the program.
    var program: String { folder.appendingPathComponent("helper").path }

    /// Makes the folder.
    init() throws {
        guard let tool = Bundle.main.executableURL?.resolvingSymlinksInPath() else {
            throw StoryError("this program does not know where it is")
        }
        helper = tool.deletingLastPathComponent().appendingPathComponent("syntax-helper")
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("SyntaxService-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    }

    /// Puts a build in the place of the one before.
    ///
    /// A real build is another program. This one is a script that tells the same program its number.
    func install(build: Int) throws {
        let new = folder.appendingPathComponent("helper.new")
        let path = helper.path.replacingOccurrences(of: "'", with: #"'\''"#)
        try "#!/bin/sh\nexec '\(path)' \(build)\n".write(to: new, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: new.path)
        // A helper that is started meanwhile gets the one or the other.
        guard rename(new.path, program) == 0 else { throw StoryError("\(program) cannot be replaced") }
    }

    /// Removes the folder.
    func remove() { try? FileManager.default.removeItem(at: folder) }

    /// Removes the folder also if a signal ends this program.
    ///
    /// Nothing is done for the helper: it ends with this program, however that ends.
    func removeAtInterruption() -> [any DispatchSourceSignal] {
        [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler {
                remove()
                signal(number, SIG_DFL)
                kill(getpid(), number)
            }
            source.resume()
            return source
        }
    }
}

/// What must not happen in the story.
struct StoryError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
