/// A step of the coding path: where a frame or scope was while something in it was coded.
///
/// There is one for each nested value, object or collection. Levels of the same frame stand for one step in it, and one
/// for the element of each collection.
protocol CodingLevel {
    /// The serial number of the frame or scope.
    var serial: Int { get }
    /// The key or the position in the frame; nil if it has neither.
    var step: ArchiveError.Step? { get }
}

/// The levels around what is being coded, outermost first.
///
/// The code that goes one level deeper writes the next one.
struct LevelStack<Level: CodingLevel>: ~Copyable {
    private(set) var levels = UnsafeMutablePointer<Level>.allocate(capacity: 0)
    /// The levels there is memory for.
    private(set) var count = 0
    /// The levels that may be used for values: as many as there is memory for, no more than the limits allow, and none
    /// that needs another stack segment.
    private(set) var room = 0
    /// The depth from which values need another stack segment.
    private(set) var segmentEnd = StackSegment.values

    /// Makes memory for a level.
    ///
    /// - Parameter deepest: How many levels values may use.
    @inline(never)
    mutating func makeRoom(for depth: Int, deepest: Int) {
        if depth >= count {
            let more = max(16, 2 * count)
            let memory = UnsafeMutablePointer<Level>.allocate(capacity: more)
            memory.moveInitialize(from: levels, count: count)
            levels.deallocate()
            levels = memory
            count = more
        }
        room = min(count, deepest, segmentEnd)
    }

    /// Notes that another stack segment begins; returns what `endSegment` needs.
    mutating func beginSegment(at depth: Int) -> Int {
        let outer = segmentEnd
        segmentEnd = depth + StackSegment.values
        room = 0
        return outer
    }

    /// Notes that the stack segment is left.
    mutating func endSegment(_ outer: Int) {
        segmentEnd = outer
        room = 0
    }

    /// Notes that the limits have changed.
    mutating func forgetRoom() { room = 0 }

    func deallocate() { levels.deallocate() }
}

/// A value that is coded apart from the values around it, such as a nested container, and where it belongs.
class DetachedPlace {
    /// The serial number of its frame or scope.
    let serial: Int
    /// Where it is in the value around it; nil if it is the same value.
    let step: ArchiveError.Step?
    /// The serial number of the frame or scope around it.
    let outerSerial: Int
    /// What it was made from, if that is detached itself.
    let outer: DetachedPlace?
    /// The next outer one that is in use, while this one is.
    var suspended: Unmanaged<DetachedPlace>?

    init(serial: Int, step: ArchiveError.Step?, outerSerial: Int, outer: DetachedPlace?) {
        self.serial = serial
        self.step = step
        self.outerSerial = outerSerial
        self.outer = outer
    }
}
