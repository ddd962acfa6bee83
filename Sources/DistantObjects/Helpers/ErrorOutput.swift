import Dispatch
import PortTransport
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What a helper writes to its standard error, if this process reads it.
final class ErrorOutput: Sendable {
    private struct State {
        var writing: CInt
        /// The last bytes of all that was read.
        var kept: [UInt8] = []
        /// The beginning of a line whose end has not come, for a prefix.
        var line: [UInt8] = []
        var isOver = false
        var waiting: (@Sendable () -> Void)?
    }

    private static let mostKept = 64 << 10
    /// A longer line is written in parts.
    private static let longestLine = 4 << 10

    private let prefix: [UInt8]?
    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "helper-errors")
    private let channel: DispatchIO

    /// Makes a pipe and begins to read it.
    ///
    /// - Returns: Nil if the helper writes to this process's standard error itself.
    /// - Throws: `ConnectionError.transport` if the system has no pipe left.
    init?(_ output: HelperOptions.Output) throws {
        switch output {
        case .inherited: return nil
        case .prefixed(let prefix): self.prefix = Array("\(prefix) ".utf8)
        case .kept: prefix = nil
        }
        let (reading, writing) = try Connection.transporting("standard error") { try ChannelEndpoint.pipeDescriptors() }
        state = Mutex(State(writing: writing))
        channel = DispatchIO(type: .stream, fileDescriptor: reading, queue: queue) { _ in _ = close(reading) }
        channel.setLimit(lowWater: 1)
        channel.read(offset: 0, length: .max, queue: queue) { [self] isDone, data, _ in
            if let data { take(data) }
            if isDone { end() }
        }
    }

    deinit { closeWriting() }

    /// The end that becomes the helper's standard error.
    var writing: CInt { state.withLock { $0.writing } }

    /// The last lines, at most 64 KiB.
    var lines: String { String(decoding: state.withLock { $0.kept }, as: UTF8.self) }

    /// Closes this process's copy of the helper's end.
    func closeWriting() {
        let descriptor = state.withLock { state in
            defer { state.writing = -1 }
            return state.writing
        }
        if descriptor >= 0 { _ = close(descriptor) }
    }

    /// Waits until all is read that a helper has written which has ended.
    ///
    /// A process that it has left behind may hold the pipe, so the wait is short, and nothing is read after it.
    func finish() async {
        await withCheckedContinuation { continuation in
            let resume = OnceResumed(continuation)
            let isOver = state.withLock { state in
                state.waiting = { resume.now() }
                return state.isOver
            }
            if isOver { return resume.now() }
            queue.asyncAfter(deadline: .now() + .milliseconds(500)) { resume.now() }
        }
        channel.close(flags: .stop)
    }

    private func take(_ data: DispatchData) {
        let text = state.withLock { state -> [UInt8] in
            state.kept.append(contentsOf: data)
            if state.kept.count > Self.mostKept { state.kept.removeFirst(state.kept.count - Self.mostKept) }
            guard let prefix else { return [] }
            var text: [UInt8] = []
            for byte in data {
                state.line.append(byte)
                guard byte == UInt8(ascii: "\n") || state.line.count >= Self.longestLine else { continue }
                text += prefix + state.line
                if byte != UInt8(ascii: "\n") { text.append(UInt8(ascii: "\n")) }
                state.line = []
            }
            return text
        }
        Self.write(text)
    }

    private func end() {
        let (rest, waiting) = state.withLock { state in
            state.isOver = true
            defer { (state.line, state.waiting) = ([], nil) }
            return (state.line, state.waiting)
        }
        if let prefix, !rest.isEmpty { Self.write(prefix + rest + [UInt8(ascii: "\n")]) }
        waiting?()
    }

    /// Writes to this process's standard error.
    private static func write(_ text: [UInt8]) {
        var rest = text[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { systemWrite(2, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}

/// A continuation that the first of two events resumes.
private final class OnceResumed: Sendable {
    private let continuation: Mutex<CheckedContinuation<Void, Never>?>

    init(_ continuation: CheckedContinuation<Void, Never>) { self.continuation = Mutex(continuation) }

    func now() { continuation.withLock { $0.take() }?.resume() }
}

private func systemWrite(_ descriptor: CInt, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
