/// The large messages of the peer that have come and wait to be started or read.
///
/// The *window* is the number of bytes of large messages that the peer may have under way. Messages take room in the
/// window until they are decoded. What one of them waits for may depend on a message for which there is no room then:
/// the method of a promise on an answer, or the reader of a stream on another stream. So if the window is short, the
/// room of the oldest messages is given back early: they are *laid aside*, and keep memory beside the window. If the
/// messages laid aside would keep too much, the others stay in the window, and the window is *blocked*.
///
///     wait --(the window is short)--> laid aside --> started or read
///     wait --(blocked for the time allowed)--> refused
struct LaidAside {
    private struct Entry {
        weak var message: PartialMessage?
    }

    /// Bytes of the messages that are arriving, which the window has or needs room for.
    private(set) var arriving = 0
    /// An upper bound of the bytes of the messages that wait and take room in the window.
    private var waiting = 0
    /// An upper bound of the bytes of the messages that are laid aside.
    private(set) var kept = 0
    private var waiters: [Entry] = []
    private var laid: [Entry] = []
    /// The numbers of entries from which on the entries that are no longer needed are removed.
    private var mostWaiters = 16
    private var mostLaid = 16
    /// For how many ticks the window has been blocked without progress; nil if it is not blocked.
    private var blockedTicks: UInt8?
    /// Whether a message has come or was started since the last tick.
    private var hasProgress = false

    /// Whether the window is too short, and too many bytes are laid aside to give more room back.
    var isBlocked: Bool { blockedTicks != nil }

    // MARK: Arriving

    /// Counts a message whose opener has come.
    mutating func begin(_ message: PartialMessage) { arriving += message.length }

    /// Counts a message whose fragments have all come, or whose sender has aborted it.
    mutating func end(_ message: PartialMessage) {
        arriving -= message.length
        hasProgress = true
    }

    /// The number of entries, including those of messages that were started since.
    var count: Int { waiters.count + laid.count }

    /// Adds a message that has come and may wait.
    ///
    /// - Complexity: O(1) on average.
    mutating func add(_ message: PartialMessage) {
        guard let bytes = message.bytes else { return }
        if waiters.count >= mostWaiters { removeStartedWaiters() }
        waiting += bytes.bytes.count
        waiters.append(Entry(message: message))
    }

    // MARK: Making room

    /// Whether there may be too little room in the window for what is arriving, because of messages that wait.
    func isShort(_ window: Int) -> Bool { waiting > 0 && arriving > window - waiting && !isBlocked }

    /// Takes messages out of the window, oldest first, until there is room for what is arriving.
    ///
    /// - Parameters:
    ///   - most: The bytes that may be kept outside of the window; one message always may.
    ///   - mayLay: Whether it helps to lay a message aside.
    ///   - giveBack: Gives the peer room in the window.
    mutating func makeRoom(
        in window: Int, keeping most: Int, mayLay: (PartialMessage) -> Bool, giveBack: (Int) -> Void
    ) {
        removeStartedWaiters()
        let candidates = waiters
        waiters = []
        for entry in candidates {
            guard let message = entry.message, arriving > window - waiting, !isBlocked, mayLay(message) else {
                waiters.append(entry)
                continue
            }
            let count = message.bytes?.bytes.count ?? 0
            guard hasMemory(for: count, most) else {
                blockedTicks = 0
                waiters.append(entry)
                continue
            }
            let bytes = message.takeLargeBytes()
            waiting -= count
            // The reader of the message may have taken its bytes meanwhile.
            guard bytes > 0 else { continue }
            giveBack(bytes)
            message.place = .laidAside
            kept += count
            laid.append(entry)
        }
    }

    private mutating func hasMemory(for count: Int, _ most: Int) -> Bool {
        if laid.count >= mostLaid || (kept > 0 && kept > most - count) { removeStartedLaid() }
        return kept == 0 || kept <= most - count
    }

    /// Counts the messages that wait in the window again, and removes the entries of all others.
    private mutating func removeStartedWaiters() {
        var sum = 0
        waiters.removeAll { entry in
            guard let message = entry.message, message.place == .waiting, message.creditDue > 0 else { return true }
            sum += message.creditDue
            return false
        }
        waiting = sum
        mostWaiters = max(16, 2 * waiters.count)
    }

    /// The bytes of the messages that are laid aside.
    mutating func countKept() -> Int {
        removeStartedLaid()
        return kept
    }

    /// Counts the messages that are laid aside again, and removes the entries of all others.
    private mutating func removeStartedLaid() {
        let before = kept
        laid.removeAll { $0.message?.place != .laidAside }
        kept = laid.reduce(0) { $0 + ($1.message?.bytes?.bytes.count ?? 0) }
        mostLaid = max(16, 2 * laid.count)
        if kept < before { hasProgress = true }
    }

    // MARK: Blocked

    /// Counts one tick of the time for which the window may be blocked; the caller then checks the window again.
    ///
    /// - Returns: The ticks without progress.
    mutating func tick() -> UInt8 {
        guard let ticks = blockedTicks else { return 0 }
        removeStartedLaid()
        defer { hasProgress = false }
        blockedTicks = nil
        return hasProgress ? 0 : ticks + 1
    }

    /// Goes on counting, because the window is still blocked.
    mutating func goOn(_ ticks: UInt8) {
        if isBlocked { blockedTicks = ticks }
    }

    /// The oldest message in the window for which `condition` holds.
    func firstWaiting(where condition: (PartialMessage) -> Bool) -> PartialMessage? {
        for entry in waiters {
            if let message = entry.message, message.place == .waiting, message.creditDue > 0, condition(message) {
                return message
            }
        }
        return nil
    }
}
