import Synchronization

/// The origin of a stream in this process: a sequence that nothing has read yet, or that is being read.
///
/// A sequence is read once, so the first reader claims it: a message that sends the stream, or code of this process that
/// iterates it.
class StreamSource: @unchecked Sendable {  // Subclasses protect what they add by a lock.
    private let isClaimed = Atomic<Bool>(false)
    /// The most items that may wait at the reader besides the one that it works on; nil to leave that to the reader.
    let readAhead: Int?

    init(readAhead: Int? = nil) { self.readAhead = readAhead }

    /// Claims the sequence.
    ///
    /// - Returns: False if it is claimed already.
    final func claim() -> Bool {
        isClaimed.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
    }

    /// Gives up the claim, because the sequence was not read: the peer passed the stream back, or no stream could be
    /// opened.
    final func giveBack() { isClaimed.store(false, ordering: .releasing) }

    /// Releases the sequence, which nothing will read any more.
    ///
    /// The release runs user code (`deinit`).
    func dispose() {}
}

/// A stream that cannot be read from the beginning, as a message's table of references says.
enum DeadStream: UInt64 {
    /// The stream was sent or read before.
    case used = 1_024
    /// The stream's sender has too many open streams.
    case overloaded = 1_025
    /// The stream's sender is closing the connection.
    case closing = 1_026

    /// The stream's entry in a table of references.
    var reference: Reference { .stream(rawValue) }

    /// The error that the stream's reader gets.
    var error: ConnectionError {
        switch self {
        case .used: ConnectionError(.streamUsed, "the stream was sent or read before; a stream is read once")
        case .overloaded:
            ConnectionError(.overloaded, "the other process has too many open streams; this one was not started")
        case .closing:
            ConnectionError(.closed, "the other process is closing the connection; the stream was not started")
        }
    }
}

/// A dead stream as an object of a message's table.
///
/// There is one object for each reason, because a message may name some thousand dead streams.
final class DeadStreamObject: Sendable {
    let reason: DeadStream

    private init(_ reason: DeadStream) { self.reason = reason }

    private static let used = DeadStreamObject(.used)
    private static let overloaded = DeadStreamObject(.overloaded)
    private static let closing = DeadStreamObject(.closing)

    static func of(_ reason: DeadStream) -> DeadStreamObject {
        switch reason {
        case .used: used
        case .overloaded: overloaded
        case .closing: closing
        }
    }
}
