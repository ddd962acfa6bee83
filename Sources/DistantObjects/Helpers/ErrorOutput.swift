import CPortShims
import PortTransport
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What a helper writes to its standard error, if this process reads it.
///
/// A thread reads it. Dispatch's channels end the program at times when several are closed at once (Swift 6.3.1, Linux).
final class ErrorOutput: Sendable {
    private struct State {
        var writing: CInt
        /// The last bytes of all that was read.
        var kept: [UInt8] = []
        /// The beginning of a line whose end has not come, for a prefix.
        var line: [UInt8] = []
        var life = Life.reading
    }

    private enum Life {
        case reading
        /// The helper has ended, so what is not there yet is not waited for long.
        case ending(FirstOutcome<Void>)
        /// Nothing is read any more.
        case over
    }

    private static let mostKept = 64 << 10
    /// A longer line is written in parts.
    private static let longestLine = 4 << 10
    /// How often the thread looks whether the helper has ended, in milliseconds.
    private static let pause: CInt = 1_000
    /// How long the end of a helper waits for what it has written.
    private static let patience = Duration.milliseconds(500)

    private let prefix: [UInt8]?
    private let reading: CInt
    private let state: Mutex<State>

    /// Makes a pipe and begins to read it.
    ///
    /// - Returns: Nil if the helper writes to this process's standard error itself.
    /// - Throws: `ConnectionError.transport` if the system has no pipe or thread left.
    init?(_ output: HelperOptions.Output) throws {
        switch output {
        case .inherited: return nil
        case .prefixed(let prefix): self.prefix = Array("\(prefix) ".utf8)
        case .kept: prefix = nil
        }
        let ends = try Connection.transporting("standard error") { try ChannelEndpoint.pipeDescriptors() }
        reading = ends.0
        state = Mutex(State(writing: ends.1))
        let retained = Unmanaged.passRetained(self)
        let failure = port_thread_start(
            { context in
                guard let context else { return nil }
                Unmanaged<ErrorOutput>.fromOpaque(context).takeRetainedValue().read()
                return nil
            }, retained.toOpaque(), "distant-errors")
        guard failure != 0 else { return }
        retained.release()
        closeWriting()
        throw ConnectionError(.transport, "the system has no thread for the helper's errors (error \(failure))")
    }

    deinit {
        closeWriting()
        port_close(reading)
    }

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
        if descriptor >= 0 { port_close(descriptor) }
    }

    /// Waits until all is read that a helper has written which has ended.
    ///
    /// A process that it has left behind may hold the pipe, and this process's standard error may take nothing, so the wait is
    /// short. Nothing is read long after it.
    func finish(on loop: any PortLoop) async {
        let isRead = FirstOutcome<Void>()
        state.withLock { state in
            if case .over = state.life { isRead.set(()) } else { state.life = .ending(isRead) }
        }
        let timer = loop.addTimer(after: Self.patience) { isRead.set(()) }
        await isRead.value
        loop.cancelTimer(timer)
    }

    // MARK: The thread

    private func read() {
        var bytes = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            var event = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
            let ready = poll(&event, 1, Self.pause)
            if ready < 0, errno == EINTR { continue }
            if ready == 0 {
                guard case .ending = state.withLock({ $0.life }) else { continue }
                break
            }
            let count = bytes.withUnsafeMutableBytes { systemRead(reading, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count > 0 else { break }
            take(bytes[..<count])
        }
        end()
    }

    private func take(_ bytes: ArraySlice<UInt8>) {
        let text = state.withLock { state -> [UInt8] in
            state.kept.append(contentsOf: bytes)
            if state.kept.count > Self.mostKept { state.kept.removeFirst(state.kept.count - Self.mostKept) }
            guard let prefix else { return [] }
            var text: [UInt8] = []
            for byte in bytes {
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
        let (rest, life) = state.withLock { state in
            defer { (state.line, state.life) = ([], .over) }
            return (state.line, state.life)
        }
        if let prefix, !rest.isEmpty { Self.write(prefix + rest + [UInt8(ascii: "\n")]) }
        if case .ending(let isRead) = life { isRead.set(()) }
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

private func systemRead(_ descriptor: CInt, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(descriptor, bytes, count)
}

private func systemWrite(_ descriptor: CInt, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
