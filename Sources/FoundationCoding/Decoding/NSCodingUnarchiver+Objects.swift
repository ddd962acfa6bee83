import Foundation
import KeyedArchive

extension NSCodingUnarchiver {
    /// The object for a value, which may have and contain `classes`; nil means the classes allowed here already.
    func object(_ value: ArchivedValue, of classes: [AnyClass]?) throws -> Any? {
        let list = list(of: classes)
        lists.append(list)
        defer { lists.removeLast() }
        let object = try element(value)
        if strictness == .anyClass, let classes, let object {
            let type: AnyClass = Swift.type(of: object)
            guard classes.contains(where: { ClassNames.isSubclass(type, of: $0) }) else { throw refused(type) }
        }
        return object
    }

    /// The object for a value under the current allow list.
    func element(_ value: ArchivedValue) throws -> AnyObject? {
        switch value {
        case .reference(let index): return try object(at: index)
        case .null: return nil
        default:
            let object = try PlainObject(self).object(value, depth: 0)
            try check(type(of: object))
            return object
        }
    }

    func object(at index: Int) throws -> AnyObject? {
        if let slot = slots[index] { return try known(slot, at: index) }
        guard graph.objects.indices.contains(index) else {
            throw ArchiveError(.corrupt, "a reference to object \(index), which is not there")
        }
        switch graph.objects[index] {
        case .value(.null): return nil
        case .classRecord: throw ArchiveError(.corrupt, "a class where an object should be")
        case .value(let value):
            return try nested(at: index) {
                let object = try PlainObject(self).object(value, depth: 0)
                try self.check(type(of: object))
                self.costs[index] = self.cost(of: value)
                return object
            }
        case .instance(let record):
            return try make(record, at: index)
        }
    }

    /// An object decoded earlier, which must be allowed here, too.
    private func known(_ slot: Slot, at index: Int) throws -> AnyObject? {
        switch slot {
        case .made(let object):
            guard let object else { return nil }
            try check(type(of: object))
            try verify(index)
            return object
        case .making(let collection?):
            try refuseCollectionCycle()
            try check(type(of: collection))
            return collection
        case .making(nil):
            guard let record = graph.objects[index].record else {
                throw ArchiveError(.cycle, "a plain value that contains itself")
            }
            let type: AnyClass = try resolve(record)
            guard let collection = NativeDecoding.emptyCollection(of: type) else {
                throw ArchiveError(
                    .cycle,
                    "\(record.typeName) refers to itself by way of objects that are not complete; "
                        + "decode such a reference with decodeReference(of:forKey:perform:)")
            }
            try refuseCollectionCycle()
            try check(type)
            slots[index] = .making(collection: collection)
            return collection
        }
    }

    /// Refuses cycles that consist of collections only, unless the archive is trusted.
    ///
    /// Foundation's accessors would convert such a cycle to Swift values without end.
    private func refuseCollectionCycle() throws {
        guard strictness != .anyClass, frames[frames.count - 1].isGuarded else { return }
        throw ArchiveError(.cycle, "a collection that contains itself")
    }

    private func make(_ record: ArchivedRecord, at index: Int) throws -> AnyObject? {
        let type: AnyClass = try resolve(record)
        try check(type)
        frames.append(
            DecodingFrame(
                record, steps: here, allowsKeys: !isSequential || Ancestry.of(type).hasFoundations,
                isGuarded: NativeDecoding.isCollection(type)))
        defer { frames.removeLast() }
        return try nested(at: index) { try self.build(type, record, index) }
    }

    /// Makes an object one level deeper, on a new stack segment if necessary.
    private func nested(at index: Int, _ make: @escaping () throws -> AnyObject) throws -> AnyObject {
        guard depth < limits.chain else {
            throw ArchiveError(.limit, "objects inside one another more than \(limits.chain) deep")
        }
        slots[index] = .making(collection: nil)
        depth += 1
        defer { depth -= 1 }
        do {
            let object = depth.isMultiple(of: StackSegment.levels) ? try StackSegment.run(make) : try make()
            return try settled(object, at: index)
        } catch {
            slots[index] = nil
            throw error
        }
    }

    private func build(_ type: AnyClass, _ record: ArchivedRecord, _ index: Int) throws -> AnyObject {
        if let maker = NativeDecoding.maker(of: type) {
            let object = try maker(self, record, index)
            if let failure { throw failure }
            return object
        }
        guard let coding = type as? any NSCoding.Type else {
            throw ArchiveError(.classNotAllowed, "\(record.typeName) is not NSCoding")
        }
        // Foundation's initializers trap on unexpected input, even when a subclass calls them.
        let needs = try FoundationNeeds.ofFoundation(in: type)
        try needs?.check(self, record, index)
        let unnamed = needs?.unnamed ?? []
        if !unnamed.isEmpty { lists.append(lists[lists.count - 1].map { AllowList.of($0.classes + unnamed) }) }
        defer { if !unnamed.isEmpty { lists.removeLast() } }
        let object = coding.init(coder: self)
        if let failure { throw failure }
        guard let object = object.map({ $0 as AnyObject }) else {
            throw ArchiveError(.corrupt, "\(record.typeName) made nothing of what the archive has for it")
        }
        return object
    }

    /// Records the object to use for a new one, after replacements.
    private func settled(_ original: AnyObject, at index: Int) throws -> AnyObject {
        var object = original
        if let awakening = original as? any NSCodingAwakening, let other = awakening.awakeAfter(using: self) {
            object = other as AnyObject
        }
        if let delegate, let other = delegate.unarchiver(self, didDecode: object) {
            // A Swift value bridges back to a different object.
            if !(other is String), !(other as AnyObject === object) { object = other as AnyObject }
        }
        if let failure { throw failure }
        if object !== original { delegate?.unarchiver(self, willReplace: original, with: object) }
        noteCost(of: object, at: index)
        slots[index] = .made(object)
        for action in waiting.removeValue(forKey: index) ?? [] { action(object) }
        return object
    }
}
