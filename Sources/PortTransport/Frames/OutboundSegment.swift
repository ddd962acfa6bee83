/// A part of a large message in its owner's memory, written from there without a copy.
package struct OutboundSegment: @unchecked Sendable {  // The bytes are not changed once they are enqueued.
    package let owner: AnyObject
    package let bytes: UnsafeRawBufferPointer

    package init(owner: AnyObject, bytes: UnsafeRawBufferPointer) {
        self.owner = owner
        self.bytes = bytes
    }
}

/// A large message, and how far it is written.
final class LargeMessage {
    let number: UInt64
    let segments: [OutboundSegment]
    let total: Int
    /// Whether its bytes count as bytes of answers.
    let isAnswer: Bool
    private(set) var offset = 0
    private var segment = 0
    private var segmentOffset = 0
    /// Its first continuation is planned and perhaps written, so it counts against the window.
    var isStarted = false
    var isAborted = false

    /// The most segments in a continuation, so that one `sendmsg` can hold several continuations.
    static let maximumSegments = 24

    init(number: UInt64, segments: [OutboundSegment], total: Int, isAnswer: Bool) {
        self.number = number
        self.segments = segments
        self.total = total
        self.isAnswer = isAnswer
    }

    /// A position in the message, for looking ahead.
    struct Cursor {
        var offset: Int
        fileprivate var segment: Int
        fileprivate var segmentOffset: Int
    }

    var cursor: Cursor { Cursor(offset: offset, segment: segment, segmentOffset: segmentOffset) }

    /// The payload size of a continuation of at most `portion` bytes that begins at `cursor`.
    func payload(at cursor: Cursor, atMost portion: Int) -> Int {
        var count = 0
        var segment = cursor.segment
        var start = cursor.segmentOffset
        var used = 0
        while segment < segments.count, count < portion, used < Self.maximumSegments {
            count += segments[segment].bytes.count - start
            used += 1
            segment += 1
            start = 0
        }
        return min(count, portion)
    }

    /// Calls `body` with the pieces of the next `count` bytes, and moves `cursor` behind them.
    func forEachPiece(_ cursor: inout Cursor, _ count: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
        var left = count
        cursor.offset += count
        while left > 0, cursor.segment < segments.count {
            let bytes = segments[cursor.segment].bytes
            let end = min(bytes.count, cursor.segmentOffset + left)
            if end > cursor.segmentOffset {
                body(UnsafeRawBufferPointer(rebasing: bytes[cursor.segmentOffset..<end]))
            }
            left -= end - cursor.segmentOffset
            if end == bytes.count {
                cursor.segment += 1
                cursor.segmentOffset = 0
            } else {
                cursor.segmentOffset = end
            }
        }
    }

    /// Copies the next `count` bytes, without moving the position.
    func copy(_ count: Int, to target: UnsafeMutableRawBufferPointer) {
        var cursor = cursor
        var filled = 0
        forEachPiece(&cursor, count) { bytes in
            UnsafeMutableRawBufferPointer(rebasing: target[filled...]).copyMemory(from: bytes)
            filled += bytes.count
        }
    }

    func advance(_ count: Int) {
        var cursor = cursor
        forEachPiece(&cursor, count) { _ in }
        offset = cursor.offset
        segment = cursor.segment
        segmentOffset = cursor.segmentOffset
    }
}
