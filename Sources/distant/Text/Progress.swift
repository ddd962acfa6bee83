#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A line on the terminal that shows the progress of a long job; silent if standard error is not a terminal.
final class Progress {
    private let isShown: Bool
    private let start = ContinuousClock.now
    private var next: ContinuousClock.Instant
    private var isOnLine = false
    private var calls = 0

    /// Makes a progress line for a job that prints to `output`; it is silent if both would go to a terminal.
    init(for output: CInt?) {
        isShown = isatty(2) == 1 && output.map { isatty($0) == 0 } ?? true
        // Short jobs need no line.
        next = start + .milliseconds(500)
    }

    /// Shows the current step and how much of it is done; cheap enough to call for each object.
    ///
    /// - Parameter all: The total; 0 if it is unknown and calls are rare.
    func show(_ what: @autoclosure () -> String, _ done: Int? = nil, of all: Int = 0) {
        guard isShown else { return }
        calls &+= 1
        guard all == 0 || done == all || calls & 0x3FF == 0 || all > 1 << 20 else { return }
        let now = ContinuousClock.now
        guard now >= next else { return }
        next = now + .milliseconds(200)
        let part = done.map { all > 0 ? " \(min(100, 100 * $0 / all))%" : " \($0)" } ?? ""
        put("\r\u{1B}[Kdistant: \(PlainText.name(what()))\(part)")
        isOnLine = true
    }

    /// Clears the line.
    func finish() {
        guard isOnLine else { return }
        put("\r\u{1B}[K")
        isOnLine = false
    }

    deinit { finish() }

    private func put(_ text: String) {
        let output = ByteOutput(descriptor: 2, named: "standard error")
        output.append(text)
        try? output.flush()
    }
}
