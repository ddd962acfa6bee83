extension ArchivedGraph: Hashable {
    /// Graphs are equal if they have the same layout, the same objects in the same order and the same roots.
    ///
    /// Whether a property list shares a list or map or contains it twice makes no difference; for objects it does.
    public static func == (a: ArchivedGraph, b: ArchivedGraph) -> Bool {
        guard a.archiver == b.archiver, a.version == b.version, a.objects.count == b.objects.count else {
            return false
        }
        var comparison = GraphComparison(a, b)
        return comparison.areEqual()
    }

    /// Hashes the classes of the objects and the keys at the top.
    ///
    /// - Complexity: Linear in the number of objects.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(archiver)
        hasher.combine(lentRoots.storedKeys)
        hasher.combine(objects.count)
        for index in objects.indices {
            guard let record = objects.lent(index).record else { continue }
            hasher.combine(record.typeName)
            hasher.combine(record.storedKeys)
        }
    }
}

/// Compares two graphs; queues shared values and compares each pair once, and queues what is nested deep, so that depth is
/// not limited.
private struct GraphComparison {
    private struct SharedPair: Hashable {
        let a: Int
        let b: Int
    }

    private let a: ArchivedGraph
    private let b: ArchivedGraph
    private var seen: Set<SharedPair> = []
    private var waiting: [(ArchivedValue, ArchivedValue)] = []
    private var level = 0

    private static let deepest = 32

    init(_ a: ArchivedGraph, _ b: ArchivedGraph) {
        self.a = a
        self.b = b
    }

    mutating func areEqual() -> Bool {
        guard areEqual(a.lentRoots, b.lentRoots), areEqual(a.lentOthers, b.lentOthers), areWaitingEqual() else {
            return false
        }
        for index in a.objects.indices {
            guard areEqual(a.objects.lent(index), b.objects.lent(index)), areWaitingEqual() else { return false }
        }
        return true
    }

    private mutating func areWaitingEqual() -> Bool {
        while let (first, second) = waiting.popLast() { guard areEqual(first, second) else { return false } }
        return true
    }

    private mutating func areEqual(_ a: ArchivedObject, _ b: ArchivedObject) -> Bool {
        switch (a, b) {
        case (.instance(let a), .instance(let b)): areEqual(a, b)
        case (.value(let a), .value(let b)): areEqual(a, b)
        case (.classRecord(let a), .classRecord(let b)):
            a.name == b.name && a.classes == b.classes && a.hints == b.hints && areEqual(a.others, b.others)
        default: false
        }
    }

    private mutating func areEqual(_ a: ArchivedRecord, _ b: ArchivedRecord) -> Bool {
        a.typeName == b.typeName && a.version == b.version && a.classIndex == b.classIndex
            && a.storedKeys == b.storedKeys && areEqual(a.values, b.values)
    }

    private mutating func areEqual(_ a: [ArchivedValue], _ b: [ArchivedValue]) -> Bool {
        guard a.count == b.count else { return false }
        for index in a.indices { guard areEqual(a[index], b[index]) else { return false } }
        return true
    }

    private mutating func areEqual(_ a: [ArchivedValue.Pair], _ b: [ArchivedValue.Pair]) -> Bool {
        guard a.count == b.count else { return false }
        for index in a.indices {
            guard areEqual(a[index].key, b[index].key), areEqual(a[index].value, b[index].value) else { return false }
        }
        return true
    }

    private mutating func areEqual(_ first: ArchivedValue, _ second: ArchivedValue) -> Bool {
        switch (first, second) {
        case (.shared(let one), .shared(let other)):
            guard a.sharedValues.indices.contains(one), b.sharedValues.indices.contains(other) else { return false }
            if seen.insert(SharedPair(a: one, b: other)).inserted {
                waiting.append((a.sharedValues.lent(one), b.sharedValues.lent(other)))
            }
            return true
        case (.shared(let one), let other):
            guard a.sharedValues.indices.contains(one) else { return false }
            waiting.append((a.sharedValues.lent(one), other))
            return true
        case (let one, .shared(let other)):
            guard b.sharedValues.indices.contains(other) else { return false }
            waiting.append((one, b.sharedValues.lent(other)))
            return true
        default: return areEqual(nested: first, second)
        }
    }

    private mutating func areEqual(nested first: ArchivedValue, _ second: ArchivedValue) -> Bool {
        guard level < Self.deepest else {
            waiting.append((first, second))
            return true
        }
        level += 1
        defer { level -= 1 }
        switch (first, second) {
        case (.list(let one), .list(let other)), (.set(let one), .set(let other)): return areEqual(one, other)
        case (.map(let one), .map(let other)): return areEqual(one, other)
        case (.record(let one), .record(let other)): return areEqual(one, other)
        case (.present(let one), .present(let other)): return areEqual(one, other)
        // Neither contains values that could be equal.
        default: return first == second
        }
    }
}
