import KeyedArchive

/// The work of comparing an object with an equal one.
///
/// Foundation compares collections element by element. It visits an object as often as it occurs, so that a short archive of
/// shared objects can take as long as it likes.
struct ComparisonCost {
    /// The number of objects, the object itself and those inside, counted each time that Foundation visits them.
    private(set) var work = 1
    /// How deep objects are inside one another.
    private(set) var levels = 1
    /// Whether it is an array, a set or a dictionary: Foundation hashes these by their counts alone.
    var isCollection = false

    /// The cost of an object whose content is not known yet: too much.
    static var unknown: ComparisonCost {
        var cost = ComparisonCost()
        cost.work = most
        return cost
    }

    /// Adds an object inside.
    mutating func contain(_ element: ComparisonCost) {
        work = min(work + element.work, Self.most)
        levels = max(levels, min(element.levels, Self.most) + 1)
    }

    /// Adds what Foundation does with the elements of a set, or the keys of a dictionary, that are collections.
    ///
    /// To compare the set it makes a Swift set of them, in which each is compared with those of the same hash.
    mutating func hash(_ keys: [ComparisonCost]) {
        let collections = keys.count(where: \.isCollection)
        guard collections > 0 else { return }
        let (all, overflow) = work.multipliedReportingOverflow(by: Self.visits * collections)
        work = overflow ? Self.most : min(all, Self.most)
    }

    /// How often each element is visited where a set is compared; six times were measured.
    private static let visits = 8
    /// Where counting ends, above every bound.
    private static let most = 1 << 40
}

/// What is left of the work that an archive may make Foundation do to compare its objects and hash them.
struct ComparisonWork {
    private var rest: Int

    /// The most work that one object may take.
    private static let mostWork = 10_000
    /// How deep objects may be inside one another in it: comparisons are recursive.
    private static let mostLevels = 64

    /// Makes the bound for an archive of so many bytes.
    ///
    /// Real archives take less than a visit for each byte, as each key and each run of attributes is stored, too. A visit takes
    /// Foundation about ten microseconds.
    init(bytes: Int) { rest = 50_000 + 4 * bytes }

    /// Takes the work of setting attributes, which Foundation compares with those before and behind.
    mutating func compare(_ attributes: ComparisonCost) throws {
        try expectSmall(attributes, "attributes")
        try take(attributes.work)
    }

    /// Takes the work of adding elements to a set, or keys to a dictionary.
    mutating func hash(_ keys: [ComparisonCost]) throws {
        var (work, ofCollections, collections) = (0, 0, 0)
        for key in keys {
            try expectSmall(key, "a key")
            if key.isCollection {
                ofCollections += key.work
                collections += 1
            } else {
                work += key.work
            }
        }
        // Each is compared with all others of the same hash.
        let (all, overflow) = ofCollections.multipliedReportingOverflow(by: max(1, collections))
        try take(overflow ? .max : all)
        try take(work)
    }

    private func expectSmall(_ cost: ComparisonCost, _ what: StaticString) throws {
        guard cost.work <= Self.mostWork else {
            throw ArchiveError(.limit, "\(what) of more than \(Self.mostWork) objects, counted for each occurrence")
        }
        guard cost.levels <= Self.mostLevels else {
            throw ArchiveError(
                .limit, "\(what) with objects inside one another more than \(Self.mostLevels) deep")
        }
    }

    private mutating func take(_ work: Int) throws {
        guard work <= rest else {
            throw ArchiveError(
                .limit, "keys and attributes whose objects take more comparisons than a file of its size should need")
        }
        rest -= work
    }
}
