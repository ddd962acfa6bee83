import PortTransport

/// A record of this side's one-way messages, which counts those that did not run.
struct OneWayRecord {
    /// The number of last frames for which the record knows whether they are one-way messages; a power of two.
    private static let window: UInt64 = 4_096

    /// One bit for each of the last frames; empty before the first one-way message.
    private var bits: [UInt64] = []
    /// The number of the last one-way message.
    private var last: UInt64 = 0
    /// The losses that were not reported yet; usually missing.
    private var unreported = Rare<OneWayLosses>.missing

    /// Whether there are losses that were not reported yet.
    var hasLosses: Bool {
        @inline(__always) get { if case .missing = unreported { false } else { true } }
    }

    /// The losses that were not reported yet.
    var losses: OneWayLosses { unreported.value ?? OneWayLosses(count: 0, first: nil) }

    /// Notes that a one-way message was written.
    @inline(__always)
    mutating func sent(_ number: UInt64) {
        // Usually the frame before it was a one-way message as well.
        guard number == last + 1, last > 0 else { return sentBehindOthers(number) }
        self[number] = true
        last = number
    }

    @inline(never)
    private mutating func sentBehindOthers(_ number: UInt64) {
        if bits.isEmpty { bits = Array(repeating: 0, count: Int(Self.window / 64)) }
        if number - last >= Self.window {
            for index in bits.indices { bits[index] = 0 }
        } else {
            var next = last + 1
            while next < number {
                self[next] = false
                next += 1
            }
        }
        self[number] = true
        last = number
    }

    private subscript(number: UInt64) -> Bool {
        get { bits[Int(number % Self.window / 64)] & 1 << (number % 64) != 0 }
        @inline(__always) set {
            let bit = UInt64(1) << (number % 64)
            if newValue {
                bits[Int(number % Self.window / 64)] |= bit
            } else {
                bits[Int(number % Self.window / 64)] &= ~bit
            }
        }
    }

    /// Counts a failure that the peer reports.
    ///
    /// Each message can fail once.
    ///
    /// - Returns: False if no one-way message has that number. For frames older than the window the answer is true.
    mutating func failed(_ number: UInt64, _ error: ConnectionError) -> Bool {
        guard number > 0, number <= last else { return false }
        if last - number < Self.window {
            guard self[number] else { return false }
            self[number] = false
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
    /// - Complexity: O(*n*) in the frames in the window, at most 4,096.
    mutating func ended(_ end: ConnectionEnd, mayBeWritten: (UInt64) -> Bool) {
        lose(ConnectionError(.notSent, "\(end); the message was not sent"), after: 0) { !mayBeWritten($0) }
    }

    /// Counts messages as lost, each at most once.
    private mutating func lose(
        _ error: ConnectionError, after number: UInt64, where isLost: (UInt64) -> Bool = { _ in true }
    ) {
        guard number < last else { return }
        var next = max(number, last - min(last, Self.window - 1)) + 1
        var count = 0
        while next <= last {
            if self[next], isLost(next) {
                self[next] = false
                count += 1
            }
            next += 1
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
