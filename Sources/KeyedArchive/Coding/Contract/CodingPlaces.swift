/// Where a coder is: what coding paths are made from.
///
/// A value that is nested deep asks for a path at each of its levels when it fails, so both tables are made once for each path.
struct CodingPlaces<Level: CodingLevel> {
    private let levels: UnsafeMutablePointer<Level>
    private let depth: Int
    /// The step from a collection that is coded without frame to its element; nil if the level is none.
    private let element: (Level) -> ArchiveError.Step?
    /// The first level of each frame.
    private var firstLevels: [Int: Int] = [:]
    /// The detached place in use of each frame that has one, the innermost if it has several.
    private var active: [Int: DetachedPlace] = [:]

    /// - Parameters:
    ///   - active: The innermost detached place in use.
    ///   - element: See the property.
    init(
        levels: UnsafeMutablePointer<Level>, depth: Int, active: Unmanaged<DetachedPlace>?,
        element: @escaping (Level) -> ArchiveError.Step?
    ) {
        (self.levels, self.depth, self.element) = (levels, depth, element)
        for index in (0..<depth).reversed() { firstLevels[levels[index].serial] = index }
        var next = active
        while let place = next?.takeUnretainedValue() {
            // List elements that are deferred without a place of their own have 0.
            if place.serial != 0, self.active[place.serial] == nil { self.active[place.serial] = place }
            next = place.suspended
        }
    }

    /// The steps from the value that the archive's user named to the value of a frame or scope.
    ///
    /// For one that is no longer open, the path is that of the value being coded.
    ///
    /// - Complexity: Linear in the depth.
    func path(of serial: Int, _ detached: DetachedPlace?) -> [ArchiveError.Step] {
        var steps: [ArchiveError.Step] = []
        var place = detached ?? active[serial]
        var end = place == nil ? firstLevel(of: serial, below: depth) : depth
        repeat {
            if let detached = place { end = collect(to: detached, below: end, &steps) }
            place = collect(upTo: &end, &steps)
        } while place != nil
        return steps.reversed()
    }

    /// The first level of a frame; `end` for a frame that has none below.
    private func firstLevel(of serial: Int, below end: Int) -> Int { min(firstLevels[serial] ?? end, end) }

    /// Collects the steps to a detached place, innermost first; returns the end of the levels around it.
    ///
    /// While it is in use, the frame that it took the place of has no level.
    private func collect(to place: DetachedPlace, below end: Int, _ steps: inout [ArchiveError.Step]) -> Int {
        var place = place
        if let step = place.step { steps.append(step) }
        while let outer = place.outer {
            place = outer
            if let step = place.step { steps.append(step) }
        }
        return firstLevel(of: place.outerSerial, below: end)
    }

    /// Collects the steps of the levels below an end, innermost first, to the first one whose frame is detached.
    ///
    /// - Parameter end: The first level that is not collected; afterwards that of the detached frame.
    /// - Returns: The detached place; nil if there is none.
    private func collect(upTo end: inout Int, _ steps: inout [ArchiveError.Step]) -> DetachedPlace? {
        while end > 0 {
            end -= 1
            let level = levels[end]
            if let step = element(level) { steps.append(step) }
            if end > 0, levels[end - 1].serial == level.serial { continue }
            if let step = level.step { steps.append(step) }
            if let place = active[level.serial] { return place }
        }
        return nil
    }
}

extension ArchiveError.Step {
    /// The step to an entry of a dictionary.
    ///
    /// - Parameters:
    ///   - index: The index of the entry.
    ///   - key: Where its key is, which is known to be whole.
    init(entry index: Int, key: UnsafeRawPointer) {
        var source = ByteSource(base: key, position: 0, end: .max)
        var limits = ArchiveLimits()
        limits.string = .max
        switch source.next ?? Tag.none {
        case Tag.firstString...Tag.lastString, Tag.string:
            self = (try? source.stringValue(limits)).map { .key($0) } ?? .index(index)
        case let small where small < 0x80: self = .key("\(small)")
        case Tag.integer:
            self = (try? source.advance(1)).flatMap { try? source.zigzag() }.map { .key("\($0)") } ?? .index(index)
        case Tag.unsigned:
            self = (try? source.advance(1)).flatMap { try? source.varint() }.map { .key("\($0)") } ?? .index(index)
        // Other coders make a list of such a dictionary, keys and values in turn.
        default: self = .index(2 * index + 1)
        }
    }
}
