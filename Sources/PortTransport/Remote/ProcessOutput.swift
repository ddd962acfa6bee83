internal import CPortShims
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// What a process writes to its standard error or output, if this process reads it.
///
/// A thread reads it, and ends after the process. Dispatch's channels end the program at times when several are closed at once (Swift
/// 6.3.1, Linux).
package final class ProcessOutput: Sendable {
    private struct State {
        var writing: CInt
        /// The last bytes of all that was read.
        var kept: [UInt8] = []
        /// The beginning of a line whose end has not come, for a prefix.
        var line: [UInt8] = []
        var life = Life.reading
        /// What the process itself has written and is not read yet, in bytes; 0 while it runs.
        ///
        /// It is read, however long this process's standard error takes nothing.
        var own = 0
        /// Whether the thread has closed the end of the pipe.
        var isClosed = false
        /// Those that wait until all is read.
        var waiting: [Int: @Sendable () -> Void] = [:]
        var waits = 0
    }

    private enum Life {
        case reading
        /// The process has ended, so what is not there yet is not waited for long, and what others write is not read after that instant.
        case ending(ContinuousClock.Instant)
        /// Nothing is read any more.
        case over
    }

    private static let mostKept = 64 << 10
    /// A longer line is written in parts.
    private static let longestLine = 4 << 10
    /// How often the thread looks whether the process has ended, in milliseconds.
    private static let pause: CInt = 1_000
    /// How long the end of a process waits for what it has written, if the thread can read it.
    package static let patience = Duration.milliseconds(500)
    /// How long what a process has left behind may go on writing after it.
    private static let longestRest = Duration.seconds(5)

    private let prefix: [UInt8]?
    private let reading: CInt
    private let state: Mutex<State>

    /// Makes a pipe and begins to read it.
    ///
    /// - Parameter prefix: Each line is written to this process's standard error after this and a space; nil: it is only kept.
    /// - Throws: `system` if the system has no pipe or thread left.
    package init(prefix: String?) throws(TransportError) {
        self.prefix = prefix.map { Array("\($0) ".utf8) }
        var ends: [CInt] = [-1, -1]
        if ends.withUnsafeMutableBufferPointer({ port_pipe($0.baseAddress) }) < 0 {
            throw .system("opening a pipe", errno)
        }
        reading = ends[0]
        state = Mutex(State(writing: ends[1]))
        let retained = Unmanaged.passRetained(self)
        let failure = port_thread_start(
            { context in
                guard let context else { return nil }
                Unmanaged<ProcessOutput>.fromOpaque(context).takeRetainedValue().read()
                return nil
            }, retained.toOpaque(), "distant-output")
        guard failure != 0 else { return }
        retained.release()
        port_close(reading)
        closeWriting()
        throw .system("starting a thread for the output of a process", failure)
    }

    deinit { closeWriting() }

    /// The end that becomes a standard stream of the process.
    package var writing: CInt { state.withLock { $0.writing } }

    /// The last lines, at most 64 KiB.
    package var lines: String { String(decoding: state.withLock { $0.kept }, as: UTF8.self) }

    /// Closes this process's copy of the other process's end.
    package func closeWriting() {
        let descriptor = state.withLock { state in
            defer { state.writing = -1 }
            return state.writing
        }
        if descriptor >= 0 { port_close(descriptor) }
    }

    /// Waits until all is read that a process has written which has ended.
    ///
    /// A process that it has left behind may hold the pipe, and this process's standard error may take nothing, so the wait is
    /// short. Nothing is read long after it.
    package func finish(on loop: any PortLoop) async {
        await withCheckedContinuation { continuation in
            whenRead(on: loop) { continuation.resume() }
        }
    }

    /// Calls an action as soon as `finish` would return.
    package func whenRead(on loop: any PortLoop, _ action: @escaping @Sendable () -> Void) {
        let number = state.withLock { state -> Int? in
            if case .over = state.life { return nil }
            if case .reading = state.life {
                state.life = .ending(.now + Self.longestRest)
                state.own = state.isClosed ? 0 : Int(port_unread(reading))
            }
            state.waits += 1
            state.waiting[state.waits] = action
            return state.waits
        }
        guard let number else { return action() }
        limit(number, on: loop)
    }

    private func limit(_ wait: Int, on loop: any PortLoop) {
        _ = loop.addTimer(after: Self.patience) { [weak self] in
            guard let self else { return }
            // On a busy machine the thread may have had no processor yet.
            if isLate { return limit(wait, on: loop) }
            state.withLock { $0.waiting.removeValue(forKey: wait) }?()
        }
    }

    /// Whether the thread has not read all that the process itself has written, although nothing stops it.
    private var isLate: Bool {
        let isUnread = state.withLock { state in
            guard case .ending(let end) = state.life else { return false }
            return state.own > 0 && .now < end
        }
        guard isUnread, prefix != nil else { return isUnread }
        var errors = pollfd(fd: 2, events: Int16(POLLOUT), revents: 0)
        return poll(&errors, 1, 0) != 0
    }

    /// As `finish`, for a calling thread that waits, no longer than a limit.
    package func waitUntilRead(for limit: Duration) {
        let end = ContinuousClock.now + limit
        while ContinuousClock.now < end {
            if case .over = state.withLock({ $0.life }) { return }
            var pause = timespec(tv_sec: 0, tv_nsec: 500_000)
            nanosleep(&pause, nil)
        }
    }

    // MARK: The thread

    private func read() {
        var bytes = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            var event = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
            let ready = poll(&event, 1, Self.pause)
            if ready < 0, errno == EINTR { continue }
            let (end, own) = state.withLock { state -> (ContinuousClock.Instant?, Int) in
                if case .ending(let end) = state.life { (end, state.own) } else { (nil, state.own) }
            }
            if ready == 0 {
                if end == nil { continue }
                break
            }
            if let end, end < .now, own <= 0 { break }
            let (count, number, text) = state.withLock { state -> (Int, CInt, [UInt8]) in
                // Under the lock, so that no end of the process comes between the read and its count. There is something to read, so
                // this does not wait.
                let count = bytes.withUnsafeMutableBytes { systemRead(reading, $0.baseAddress, $0.count) }
                guard count > 0 else { return (count, errno, []) }
                return (count, 0, take(bytes[..<count], &state))
            }
            if count < 0, number == EINTR || number == EAGAIN { continue }
            guard count > 0 else { break }
            Self.write(text)
        }
        end()
    }

    /// - Returns: The text for this process's standard error.
    private func take(_ bytes: ArraySlice<UInt8>, _ state: inout State) -> [UInt8] {
        state.own = max(0, state.own - bytes.count)
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

    private func end() {
        let rest = state.withLock { state in
            port_close(reading)
            (state.isClosed, state.own) = (true, 0)
            defer { state.line = [] }
            return state.line
        }
        if let prefix, !rest.isEmpty { Self.write(prefix + rest + [UInt8(ascii: "\n")]) }
        let waiting = state.withLock { state in
            state.life = .over
            defer { state.waiting = [:] }
            return state.waiting
        }
        for action in waiting.values { action() }
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
