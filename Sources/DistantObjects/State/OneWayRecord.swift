/// What became of this side's one-way messages, whose senders wait for nothing.
struct OneWayRecord {
    /// The last openers, so many, of which is known whether they are one-way messages: a power of two.
    private static let window: UInt64 = 4_096

    /// One bit for each of the last openers; no memory before the first one-way message.
    private var bits: [UInt64] = []
    /// The number of the last one-way message.
    private var last: UInt64 = 0
    private(set) var losses = OneWayLosses()

    /// A one-way message was committed.
    mutating func sent(_ number: UInt64) {
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
        set {
            let bit = UInt64(1) << (number % 64)
            if newValue {
                bits[Int(number % Self.window / 64)] |= bit
            } else {
                bits[Int(number % Self.window / 64)] &= ~bit
            }
        }
    }

    /// The peer reports a failure, which each message can have once.
    ///
    /// - Returns: Whether a one-way message may have that number. Of those sent long ago nothing is known.
    mutating func failed(_ number: UInt64, _ error: ConnectionError) -> Bool {
        guard number > 0, number <= last else { return false }
        if last - number < Self.window {
            guard self[number] else { return false }
            self[number] = false
        }
        // A method that throws has run.
        if error.code != .methodFailed { losses.add(1, error) }
        return true
    }

    /// The peer says that it took no opener after that one.
    mutating func notTaken(after number: UInt64) {
        guard number < last else { return }
        var next = max(number, last - min(last, Self.window - 1)) + 1
        var count = 0
        while next <= last {
            if self[next] { count += 1 }
            next += 1
        }
        losses.add(count, ConnectionError(.notDelivered, "the peer closed the connection and did not take the message"))
    }

    /// The error that tells of what is lost, which then counts as told.
    mutating func takeLosses() -> ConnectionError? {
        guard losses.count > 0 else { return nil }
        defer { losses = OneWayLosses() }
        let count = losses.count == 1 ? "a one-way message" : "\(losses.count) one-way messages"
        return ConnectionError(
            .oneWayLost, "\(count) sent before did not run; the first: \(losses.first?.description ?? "")",
            underlying: losses.first)
    }
}

/// One-way messages that were sent and did not run.
public struct OneWayLosses: Sendable {
    /// How many.
    public private(set) var count = 0
    /// What the other process said about the first.
    public private(set) var first: ConnectionError?

    init() {}

    mutating func add(_ count: Int, _ error: ConnectionError) {
        guard count > 0 else { return }
        self.count += count
        if first == nil { first = error }
    }
}
