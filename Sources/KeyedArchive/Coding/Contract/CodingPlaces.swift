/// Where a coder is: what coding paths are made from.
struct CodingPlaces<Level: CodingLevel> {
    let levels: UnsafeMutablePointer<Level>
    let depth: Int
    /// The detached places in use, innermost first.
    let active: Unmanaged<DetachedPlace>?
    /// The step from a collection that is coded without frame to its element; nil if the level is none.
    let element: (Level) -> ArchiveError.Step?

    /// The steps from the value that the archive's user named to the value of a frame or scope.
    ///
    /// For one that is no longer open, the path is that of the value being coded.
    ///
    /// - Complexity: Linear in the depth.
    func path(of serial: Int, _ detached: DetachedPlace?) -> [ArchiveError.Step] {
        var steps: [ArchiveError.Step] = []
        if let place = detached ?? activePlace(serial) {
            collect(to: place, below: depth, &steps)
        } else {
            collect(upTo: firstLevel(of: serial, below: depth), &steps)
        }
        return steps.reversed()
    }

    /// The first level of a frame; `end` for a frame that has none below.
    private func firstLevel(of serial: Int, below end: Int) -> Int {
        (0..<end).first { levels[$0].serial == serial } ?? end
    }

    private func activePlace(_ serial: Int) -> DetachedPlace? {
        // List elements that are deferred without a place of their own.
        guard serial != 0 else { return nil }
        var next = active
        while let place = next?.takeUnretainedValue() {
            if place.serial == serial { return place }
            next = place.suspended
        }
        return nil
    }

    /// Collects the steps of the levels around one, innermost first.
    private func collect(upTo end: Int, _ steps: inout [ArchiveError.Step]) {
        for index in (0..<end).reversed() {
            let level = levels[index]
            if let step = element(level) { steps.append(step) }
            if index > 0, levels[index - 1].serial == level.serial { continue }
            if let step = level.step { steps.append(step) }
            if let place = activePlace(level.serial) { return collect(to: place, below: index, &steps) }
        }
    }

    /// Collects the steps to a detached place; while it is in use, the frame that it took the place of has no level.
    private func collect(to place: DetachedPlace, below end: Int, _ steps: inout [ArchiveError.Step]) {
        var place = place
        if let step = place.step { steps.append(step) }
        while let outer = place.outer {
            place = outer
            if let step = place.step { steps.append(step) }
        }
        collect(upTo: firstLevel(of: place.outerSerial, below: end), &steps)
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
