/// The levels of a recursion over nested values, which goes on in another stack segment now and then.
///
///     let isSegmentFull = try nesting.enter()
///     defer { nesting.leave() }
///     if isSegmentFull { return try StackSegment.run { try content() } }
///     return try content()
///
/// The closure is not on the usual path: that would take stack at each level.
struct Nesting {
    private var depth = 0
    /// The deepest level so far.
    private(set) var deepestMet = 0
    private let deepest: Int
    private let limits: ArchiveLimits
    private var budget: SegmentBudget

    /// - Parameters:
    ///   - limits: Bounds, of which `levels` applies.
    ///   - more: Levels that other formats than the one read or written do not count.
    ///   - bytes: The size of what is read; nil if it is a value of the program.
    init(_ limits: ArchiveLimits, more: Int, bytes: Int?) {
        deepest = limits.levels + more
        self.limits = limits
        budget = SegmentBudget(bytes: bytes)
    }

    /// Goes one level deeper; returns whether that needs another stack segment.
    mutating func enter() throws -> Bool {
        guard depth < deepest else { throw limits.tooDeep }
        depth += 1
        deepestMet = max(deepestMet, depth)
        guard depth.isMultiple(of: StackSegment.values) else { return false }
        do { try budget.spend() } catch {
            depth -= 1
            throw error
        }
        return true
    }

    /// Goes back.
    mutating func leave() { depth -= 1 }
}

/// How often other stack segments may be used for input of some size.
///
/// A segment takes as long as reading a hundred values. Input could have many values at the level where each takes one.
struct SegmentBudget {
    private var left: Int

    /// - Parameter bytes: The size of the input; nil if it is trusted.
    init(bytes: Int?) { left = bytes.map { 1024 + $0 / 64 } ?? .max }

    mutating func spend() throws {
        guard left > 0 else { throw ArchiveError(.limit, "too many values nested too deep") }
        left -= 1
    }
}

extension ArchiveLimits {
    /// How deep lists, dictionaries and records may be nested, of which a value may take two: itself, and a container in it.
    var levels: Int { depth < Int.max / 4 ? 2 * max(depth, 0) : Int.max / 2 }

    var tooDeep: ArchiveError { ArchiveError(.limit, "values nested deeper than \(depth)") }
}
