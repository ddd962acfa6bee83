import PortTransport

/// A record of this side's one-way messages, which counts those that did not run.
///
/// The record has a *window* of the last frames, with one bit for each frame: whether the frame is a one-way message
/// that has not failed. Any message under way may fail, however old it is, and the peer's credit limits how many are
/// under way. So the window has at least four times as many frames as there are such messages. If necessary, it grows
/// before it forgets a message. The window takes 512 bytes, unless the peer grants more credit than usual and this side
/// uses that credit, and never more than 512 KiB.
struct OneWayRecord: MadeOnDemand {
    /// How many frames the window has at first, and at most: powers of two.
    static let firstWindow: UInt64 = 4_096
    static let largestWindow = 4 * UInt64(ProtocolLimits.mostOneWayCredit)
    /// How many of the last failures of forgotten messages the record knows.
    private static let lateFailures = 64

    /// The bits of the window; that of a frame is at the frame's number modulo the number of bits.
    ///
    /// The array is empty before the first one-way message.
    private var bits: [UInt64] = []
    /// The number of the last one-way message.
    private var last: UInt64 = 0
    /// The first frame that was in the window when it last grew.
    private var start: UInt64 = 1
    /// How many one-way messages are older than the window, without those that have failed.
    private var forgotten: UInt64 = 0
    /// The last failed messages of those that are older than the window.
    private var late: [UInt64] = []
    /// The losses that were not reported yet; missing as a rule.
    private var unreported = Rare<OneWayLosses>.missing

    /// How many frames the window has.
    var window: UInt64 { UInt64(bits.count) * 64 }

    /// Whether there are losses that were not reported yet.
    var hasLosses: Bool {
        @inline(__always) get { if case .missing = unreported { false } else { true } }
    }

    /// The losses that were not reported yet.
    var losses: OneWayLosses { unreported.value ?? OneWayLosses(count: 0, first: nil) }

    /// Notes that a one-way message was written.
    ///
    /// - Parameter underWay: The number of one-way messages that are under way, including this one.
    /// - Complexity: O(1) on average in the number of frames.
    @inline(__always)
    mutating func sent(_ number: UInt64, underWay: Int) {
        // As a rule the frame before is a one-way message as well.
        guard number == last + 1, last > 0, !self[number] else { return sentBehindOthers(number, underWay) }
        self[number] = true
        last = number
    }

    @inline(never)
    private mutating func sentBehindOthers(_ number: UInt64, _ underWay: Int) {
        if bits.isEmpty { bits = Array(repeating: 0, count: Int(Self.firstWindow / 64)) }
        // A message that leaves the window now may still be under way.
        let wanted = 4 * min(UInt64(clamping: underWay), Self.largestWindow / 4)
        if number > window, wanted > window { grow(to: wanted) }
        if number - last >= window {
            for index in bits.indices {
                forgotten += UInt64(bits[index].nonzeroBitCount)
                bits[index] = 0
            }
        } else {
            var next = last + 1
            while next <= number {
                forget(next)
                next += 1
            }
        }
        self[number] = true
        last = number
    }

    /// Takes the older message out of the window that has the place of a frame.
    private mutating func forget(_ number: UInt64) {
        guard self[number] else { return }
        forgotten += 1
        self[number] = false
    }

    private mutating func grow(to wanted: UInt64) {
        var count = bits.count
        while UInt64(count) * 64 < wanted { count *= 2 }
        var grown = [UInt64](repeating: 0, count: count)
        var number = oldest
        while let next = first(from: number) {
            grown[Self.index(of: next, in: count)] |= 1 << (next % 64)
            number = next + 1
        }
        // Earlier frames stay forgotten, though there would be room for them now.
        start = oldest
        bits = grown
    }

    /// The word that has the bit of a frame, among a number of words that is a power of two.
    @inline(__always)
    private static func index(of number: UInt64, in count: Int) -> Int {
        Int(truncatingIfNeeded: number / 64) & (count - 1)
    }

    private subscript(number: UInt64) -> Bool {
        @inline(__always) get { bits[Self.index(of: number, in: bits.count)] & 1 << (number % 64) != 0 }
        @inline(__always) set {
            let bit = UInt64(1) << (number % 64)
            if newValue {
                bits[Self.index(of: number, in: bits.count)] |= bit
            } else {
                bits[Self.index(of: number, in: bits.count)] &= ~bit
            }
        }
    }

    /// The first frame in the window.
    var oldest: UInt64 { last < window ? start : max(start, last - window + 1) }

    /// The first message of the window that has this number or a higher one.
    private func first(from number: UInt64) -> UInt64? {
        var number = number
        while number <= last {
            let rest = bits[Self.index(of: number, in: bits.count)] >> (number % 64)
            if rest != 0 {
                let found = number + UInt64(rest.trailingZeroBitCount)
                return found <= last ? found : nil
            }
            number += 64 - number % 64
        }
        return nil
    }

    /// Counts a failure that the peer reports.
    ///
    /// Each message can fail once. Of messages that are older than the window the record knows only how many there are, and
    /// the last ones that have failed.
    ///
    /// - Returns: False if no one-way message has that number, or if the message has failed before.
    mutating func failed(_ number: UInt64, _ error: ConnectionError) -> Bool {
        guard number > 0, number <= last else { return false }
        if number >= oldest {
            guard self[number] else { return false }
            self[number] = false
        } else {
            guard forgotten > 0, !late.contains(number) else { return false }
            forgotten -= 1
            if late.count == Self.lateFailures { late.removeFirst() }
            late.append(number)
        }
        // A message whose method threw has run and is not lost.
        if error.code != .methodFailed { lose(1, error) }
        return true
    }

    /// Counts the messages after this number as lost, because the peer did not take them.
    mutating func notTaken(after number: UInt64) {
        lose(
            ConnectionError(.notDelivered, "the peer closed the connection and did not take the message"),
            after: number)
    }

    /// Counts the messages that are not written as lost, at the end of the connection.
    ///
    /// - Parameter mayBeWritten: Whether the whole message with that number may have reached the peer. Those messages are not
    ///   counted, because they may have run.
    /// - Complexity: O(*n*) in the frames in the window.
    mutating func ended(_ end: ConnectionEnd, mayBeWritten: (UInt64) -> Bool) {
        lose(ConnectionError(.notSent, "\(end); the message was not sent"), after: 0) { !mayBeWritten($0) }
    }

    /// Counts messages as lost, each at most once.
    private mutating func lose(
        _ error: ConnectionError, after number: UInt64, where isLost: (UInt64) -> Bool = { _ in true }
    ) {
        guard number < last else { return }
        var count = 0
        var from = max(number + 1, oldest)
        while let next = first(from: from) {
            if isLost(next) {
                self[next] = false
                count += 1
            }
            from = next + 1
        }
        lose(count, error)
    }

    private mutating func lose(_ count: Int, _ error: ConnectionError) {
        guard count > 0 else { return }
        let before = losses
        unreported = .present(OneWayLosses(count: before.count + count, first: before.first ?? error))
    }

    /// Takes the error that reports the losses; nil if there are none.
    ///
    /// Each loss is reported once.
    mutating func takeLosses() -> ConnectionError? {
        guard let losses = unreported.value else { return nil }
        unreported = .missing
        let count = losses.count == 1 ? "a one-way message" : "\(losses.count) one-way messages"
        return ConnectionError(
            .oneWayLost, "\(count) sent before did not run; the first: \(losses.first?.description ?? "")",
            underlying: losses.first)
    }
}
