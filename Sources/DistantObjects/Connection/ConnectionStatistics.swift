/// Counters of a connection, for monitoring and for tests.
///
/// On an idle connection all except the frame counts are zero.
public struct ConnectionStatistics: Sendable, Equatable {
    /// Objects of this process that the peer refers to.
    public var exports = 0
    /// Objects of the peer that this process refers to.
    public var imports = 0
    /// Calls of this process that wait for their answer, and promises.
    public var questions = 0
    /// Calls of the peer that are queued or run, and answers that it holds as promises.
    public var answers = 0
    /// Calls of this process that wait for room in the peer's queue.
    public var pending = 0
    /// Open streams in both directions.
    public var streams = 0
    /// Regions for shared bytes, of both sides, that hold some which one of the sides uses.
    public var blobs = 0
    /// Frames received so far, without further fragments of a message.
    public var framesIn: UInt64 = 0
    /// Frames sent so far, without further fragments of a message.
    public var framesOut: UInt64 = 0

    /// Counters that are all zero, to which those of connections can be added.
    public init() {}

    /// Adds the counters of another connection, for the sum over several.
    ///
    /// - Complexity: O(1).
    public static func += (sum: inout Self, other: Self) {
        sum.exports += other.exports
        sum.imports += other.imports
        sum.questions += other.questions
        sum.answers += other.answers
        sum.pending += other.pending
        sum.streams += other.streams
        sum.blobs += other.blobs
        sum.framesIn &+= other.framesIn
        sum.framesOut &+= other.framesOut
    }

    /// Whether every table is empty.
    public var isAtRest: Bool { exports + imports + questions + answers + pending + streams + blobs == 0 }
}
