/// How many items of a stream its reader lets the producer send before it has consumed them: its *window*.
///
/// A reader that takes its time has a small window, since what it was sent cannot go to another reader, and is lost when its
/// process dies. One that is fast needs a large window, or the producer would wait for credit after each few items. So unless
/// the program has set the window, it follows the reader: it is about as large as what the reader consumes in `lookahead`.
/// It grows only after the producer has used it up, because it limits nothing before.
struct ReadAhead {
    /// The items that a window has at first and at least, and at most.
    static let items = (least: 16, most: 4_096)
    /// The bytes of a window.
    static let bytes = 256 << 10
    /// The nanoseconds of the reader's work that a window covers.
    static let lookahead: UInt64 = 1_000_000
    /// The items of the first Credit.
    ///
    /// A reader returns credit at the latest when it has consumed half of its first Credit and was sent nothing more. So with
    /// few items in that, a producer that holds back more than the reader asks it to is never left without credit.
    static let firstCredit = 2

    /// The items that the producer may have sent and the reader not consumed.
    private(set) var window: Int
    private let isFixed: Bool
    /// Whether the producer has used up all credit since the window has last grown.
    private var wasUsedUp = false
    /// Consumed items and bytes whose credit is not returned, and the nanoseconds that the reader has taken for them.
    private var owedItems = 0
    private var owedBytes = 0
    private var time: UInt64 = 0
    /// When the reader was given the frame that it consumes.
    private var start: UInt64?

    /// - Parameter most: The items that may wait besides the one that the reader works on; nil to follow the reader.
    init(_ most: Int? = nil) {
        isFixed = most != nil
        // Not more than a producer may be granted, whatever the program says.
        window = most.map { min(max($0, 0), 1 << 30) + 1 } ?? Self.items.least
    }

    /// Notes that the producer has used up all credit.
    mutating func usedUp() { wasUsedUp = true }

    /// Notes that the reader begins to consume a frame.
    mutating func began(at now: UInt64) { start = now }

    /// Counts a frame that was consumed.
    ///
    /// - Parameter isDry: Whether nothing else has arrived.
    /// - Returns: The credit to return now.
    mutating func consumed(
        _ frame: StreamItems, at now: UInt64, isDry: Bool
    ) -> (items: Int, bytes: Int)? {
        owedItems += frame.count
        owedBytes += frame.bytes
        if let start { time += now - min(now, start) }
        start = nil
        // A reader that takes its time says of each frame that it was consumed, so that a producer that holds back may send
        // the next one while the reader works on the one that waits.
        guard isDry || window <= Self.items.least || owedItems * 2 >= window || owedBytes * 2 >= Self.bytes else {
            return nil
        }
        let change = isFixed ? 0 : changeOfWindow()
        window += change
        defer { (owedItems, owedBytes, time) = (0, 0, 0) }
        return (owedItems + change, owedBytes)
    }

    /// The items by which the window changes.
    private mutating func changeOfWindow() -> Int {
        // No less than half, and at most twice as many: one measurement may be off.
        let wanted = time == 0 ? Self.items.most : Int(clamping: Self.lookahead * UInt64(owedItems) / time)
        if wanted < window { return max(max(wanted, window / 2, Self.items.least) - window, 1 - owedItems) }
        guard wasUsedUp else { return 0 }
        wasUsedUp = false
        return min(wanted, window * 2, Self.items.most) - window
    }
}
