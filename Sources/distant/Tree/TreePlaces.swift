/// Where the objects of an archive are printed: each in full at one place, which is in the tree or, below a certain depth, in a
/// tree of its own behind it.
struct TreePlaces {
    enum Place: UInt8 {
        case nowhere
        case above
        case below
    }

    /// The most levels of a tree.
    static let deepest = 24

    private var places: [Place]
    /// Objects to print as separate trees, and how many of them are done.
    private var waiting: [Int] = []
    private var finished = 0
    private var shown = 0
    private let progress: Progress

    init(count: Int, progress: Progress) {
        places = Array(repeating: .nowhere, count: count)
        self.progress = progress
    }

    subscript(object: Int) -> Place { places[object] }

    /// Whether an object is to be printed in full at this depth; otherwise its place is known from now on.
    mutating func isNext(_ object: Int, depth: Int) -> Bool {
        guard places[object] == .nowhere else { return false }
        if depth < Self.deepest { return true }
        places[object] = .below
        waiting.append(object)
        return false
    }

    /// Notes that an object follows in full soon, so that what comes before refers to it.
    mutating func announce(_ object: Int) { places[object] = .above }

    /// Notes that an object is printed in full.
    mutating func show(_ object: Int) {
        places[object] = .above
        shown += 1
        progress.show("printing objects", shown, of: places.count)
    }

    /// The next object that needs a tree of its own.
    mutating func nextTree() -> Int? {
        guard finished < waiting.count else { return nil }
        finished += 1
        return waiting[finished - 1]
    }
}
