import Foundation
import KeyedArchive

extension NSCodingUnarchiver {
    /// What it takes to compare the object of a value that was decoded.
    ///
    /// An object of a class of the program counts as one: how it is compared is up to its class.
    func cost(of value: ArchivedValue) -> ComparisonCost {
        switch value {
        case .reference(let index):
            if case .making? = slots[index] { return .unknown }
            return costs[index] ?? ComparisonCost()
        case .list(let values): return cost(of: values)
        case .map(let pairs): return cost(ofMap: pairs.map(\.key), pairs.map(\.value))
        case .shared(let index):
            if let known = sharedCosts[index] { return known }
            guard graph.sharedValues.indices.contains(index) else { return ComparisonCost() }
            let cost = cost(of: graph.sharedValues[index])
            sharedCosts[index] = cost
            return cost
        default: return ComparisonCost()
        }
    }

    private func cost(of elements: [ArchivedValue]) -> ComparisonCost {
        var cost = ComparisonCost()
        cost.isCollection = true
        for element in elements { cost.contain(self.cost(of: element)) }
        return cost
    }

    private func cost(ofMap keys: [ArchivedValue], _ values: [ArchivedValue]) -> ComparisonCost {
        var cost = cost(of: keys + values)
        cost.hash(keys.map { self.cost(of: $0) })
        return cost
    }

    /// What it takes to compare each element of an array that was decoded; nil for other values.
    func costs(ofArray value: ArchivedValue) throws -> [ComparisonCost]? {
        switch resolved(value) {
        case .list(let values): return values.map { cost(of: $0) }
        case .reference(let index) where graph.objects.indices.contains(index):
            guard let record = graph.objects[index].record else { return nil }
            let frame = DecodingFrame(record, steps: [], allowsKeys: true)
            return try storedElements(frame, "NS.objects", "NS.object.").map { cost(of: $0) }
        default: return nil
        }
    }

    /// Records what it takes to compare an object of Foundation that was made of the innermost frame.
    func noteCost(of object: AnyObject, at index: Int) {
        guard costs[index] == nil, let object = object as? NSObject, Ancestry.of(type(of: object)).hasFoundations,
            let frame = frames.last
        else { return }
        var parts: [ComparisonCost] = []
        for value in frame.record.values {
            switch value {
            case .list(let elements): parts += elements.map { self.cost(of: $0) }
            case .reference, .map, .shared: parts.append(self.cost(of: value))
            default: continue
            }
        }
        // Strings, numbers and the like need no entry.
        guard !parts.isEmpty || NativeDecoding.isCollection(object) else { return }
        var cost = ComparisonCost()
        for part in parts { cost.contain(part) }
        cost.isCollection = NativeDecoding.isCollection(object)
        switch object {
        case is NSSet, is NSOrderedSet: cost.hash(parts)
        case is NSDictionary:
            cost.hash(((try? storedElements(frame, "NS.keys", "NS.key.")) ?? []).map { self.cost(of: $0) })
        default: break
        }
        costs[index] = cost
    }
}
