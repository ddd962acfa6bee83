import CTerminal
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

@Suite("The helpers of a tool that ends", .bounded())
struct ToolEndTests {
    /// How a tool ends.
    enum End: CaseIterable, Sendable {
        case killed, terminated, interrupted
    }

    @Test(
        "Nothing of a helper is left, however the tool ends, even if the helper's main thread notices nothing",
        arguments: End.allCases, [["blocked"], []])
    func toolEnds(_ end: End, ways: [String]) async throws {
        let terminal = end == .interrupted ? try Terminal() : nil
        let tool = try ToolProcess(try builtProgram("killed-peer"), ["supervisor"] + ways, on: terminal)
        let numbers = try await onThread { tool.line()?.split(separator: " ").compactMap { Int32($0) } ?? [] }
        try #require(numbers.count == 2)
        for number in numbers { #expect(kill(number, 0) == 0) }
        switch end {
        case .killed: kill(tool.pid, SIGKILL)
        case .terminated: kill(tool.pid, SIGTERM)
        case .interrupted: terminal?.type("\u{3}")
        }
        let status = try await onThread { tool.wait() }
        #expect(status == [End.killed: SIGKILL, .terminated: SIGTERM, .interrupted: SIGINT][end])
        // They are children of another process now, which may not reap them at once.
        await eventually("the helper and what it has started have ended") {
            numbers.allSatisfy { number in
                guard let stat = FileManager.default.contents(atPath: "/proc/\(number)/stat") else { return true }
                return String(decoding: stat, as: UTF8.self).split(separator: ")").last?.hasPrefix(" Z") ?? true
            }
        }
    }
}

/// A terminal without a screen.
private final class Terminal: Sendable {
    private let keyboard: CInt
    let path: String

    init() throws {
        var path = [CChar](repeating: 0, count: 128)
        keyboard = terminal_open(&path, path.count)
        try #require(keyboard >= 0)
        self.path = String(decoding: path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { close(keyboard) }

    /// Types on the keyboard.
    func type(_ text: String) { _ = text.withCString { write(keyboard, $0, strlen($0)) } }
}

/// A process in a session of its own.
private final class ToolProcess: @unchecked Sendable {  // Used by one thread at a time.
    let pid: pid_t
    private let output: UnsafeMutablePointer<FILE>

    /// - Parameter terminal: Becomes the terminal of the session.
    init(_ program: String, _ arguments: [String], on terminal: Terminal?) throws {
        var ends: [CInt] = [-1, -1]
        try #require(terminal_pipe(&ends) == 0)
        var words = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var pid: pid_t = 0
        let failure = terminal_spawn(program, &words, terminal?.path, ends[1], &pid)
        close(ends[1])
        try #require(failure == 0)
        self.pid = pid
        output = try #require(fdopen(ends[0], "r"))
    }

    deinit { fclose(output) }

    /// The next line of its standard output.
    func line() -> String? {
        var line: UnsafeMutablePointer<CChar>?
        var size = 0
        defer { free(line) }
        guard getline(&line, &size, output) > 0, let line else { return nil }
        return String(String(cString: line).prefix { $0 != "\n" })
    }

    /// Waits for its end.
    ///
    /// - Returns: The signal that has ended it; 0 if none has.
    func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return status & 0x7f
    }
}
