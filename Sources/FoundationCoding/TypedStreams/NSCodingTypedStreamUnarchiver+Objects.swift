import Foundation
import KeyedArchive
import Synchronization

extension NSCodingTypedStreamUnarchiver {
    // MARK: Values

    /// Decodes the next object, which may have and contain `classes`; nil means the classes allowed here already.
    func nextObject(of classes: [AnyClass]?) throws -> AnyObject? {
        let object = try object(try next("@").value, of: classes)
        endValue()
        return object
    }

    /// The next object under the current allow list.
    func nextElement() throws -> AnyObject? {
        let object = try element(try next("@").value)
        endValue()
        return object
    }

    /// The object, if it exists already or can be made; otherwise calls `action` when it does.
    func nextReference<T: NSObject & NSCoding>(of type: T.Type, _ action: @escaping (T) -> Void) throws -> T? {
        let value = try next("@").value
        guard case .label(let label) = value, case .making(nil)? = slots[label] else {
            let object = try object(value, of: [type])
            endValue()
            return object as? T
        }
        lists.append(list(of: [type]))
        defer { lists.removeLast() }
        let ancestry = try ancestry(ofObject: label)
        try check(try resolve(ancestry), ancestry)
        waiting[label, default: []].append { if let object = $0 as? T { action(object) } }
        endValue()
        return nil
    }

    func object(_ value: TypedStreamValue, of classes: [AnyClass]?) throws -> AnyObject? {
        lists.append(list(of: classes))
        defer { lists.removeLast() }
        let object = try element(value)
        if lists[lists.count - 1] == nil, let classes, let object {
            let type: AnyClass = Swift.type(of: object)
            guard classes.contains(where: { ClassNames.isSubclass(type, of: $0) }) else { throw refused(type) }
        }
        return object
    }

    private func element(_ value: TypedStreamValue) throws -> AnyObject? {
        lastHeight = 0
        lastCost = ComparisonCost()
        guard case .label(let label) = value else { return nil }
        let object: AnyObject
        switch slots[label] {
        case nil:
            let made = try make(label)
            object = made.object
            lastHeight = made.height
            lastCost = made.cost
        case .made(let known, let list, let height, let cost)?:
            if list !== lists[lists.count - 1] { try verify(label) }
            object = known
            lastHeight = height
            lastCost = cost
        case .making(let collection)?:
            object = try unfinished(collection, label)
            // Its height is not known yet: it is neither a key nor an attribute.
            lastHeight = shallow + 1
            lastCost = .unknown
        }
        frames[frames.count - 1].cost.contain(lastCost)
        frames[frames.count - 1].height = max(frames[frames.count - 1].height, lastHeight + 1)
        return object
    }

    /// The next object, in which no more objects are inside one another than values may be.
    ///
    /// Foundation compares and hashes what may be deep by recursion.
    func nextShallowElement(_ what: StaticString) throws -> AnyObject? {
        let object = try nextElement()
        guard lastHeight <= shallow else {
            throw ArchiveError(.limit, "\(what) with objects inside one another more than \(shallow) deep")
        }
        return object
    }

    /// Allows further classes during a step that needs them.
    func allowing<T>(_ classes: [AnyClass], _ step: () throws -> T) rethrows -> T {
        lists.append(list(of: lists[lists.count - 1].map { $0.classes + classes }))
        defer { lists.removeLast() }
        return try step()
    }

    // MARK: Objects that are being made

    /// A reference to an object whose content is being read: only to a collection, in a trusted archive.
    ///
    /// Foundation's accessors would convert a cycle of collections to Swift values without end.
    private func unfinished(_ collection: NSObject?, _ label: Int) throws -> AnyObject {
        let ancestry = try ancestry(ofObject: label)
        let type: AnyClass = try resolve(ancestry)
        try check(type, ancestry)
        guard let collection = collection ?? NativeDecoding.emptyCollection(of: type) else {
            throw ArchiveError(
                .cycle,
                "\(Self.printable(ancestry.name ?? "")) refers to itself by way of objects that are not complete; "
                    + "decode such a reference with decodeReference(of:perform:)")
        }
        guard lists[lists.count - 1] == nil else {
            throw ArchiveError(.cycle, "a collection that contains itself")
        }
        slots[label] = .making(collection: collection)
        return collection
    }

    /// The unfinished collection that other objects already refer to.
    func collection<T: NSObject>(_ label: Int, as type: T.Type) -> T? {
        if case .making(let collection?)? = slots[label] { collection as? T } else { nil }
    }

    /// The levels of objects on one stack: those of other coders take less of it.
    private static let levels = StackSegment.levels / 2

    private func make(_ label: Int) throws -> (object: AnyObject, height: Int, cost: ComparisonCost) {
        guard case .object(let object) = graph.labels[label] else {
            throw ArchiveError(.corrupt, "the label \(label) is not an object")
        }
        guard depth < limits.chain else {
            throw ArchiveError(.limit, "objects inside one another more than \(limits.chain) deep")
        }
        let ancestry = try ancestry(object.classLabel)
        push(object, label, ancestry)
        slots[label] = .making(collection: nil)
        depth += 1
        deepest = max(deepest, depth)
        defer {
            depth -= 1
            frames.removeLast()
        }
        do {
            let made =
                depth.isMultiple(of: Self.levels)
                ? try StackSegment.run { try self.build(label, ancestry) } : try build(label, ancestry)
            return (try settled(made, label), frames[frames.count - 1].height, frames[frames.count - 1].cost)
        } catch {
            // The frames say where.
            fail(error)
            slots[label] = nil
            throw error
        }
    }

    /// Begins with an object, in a function of its own: a frame is large, and would be on the stack at each level.
    private func push(_ object: TypedStreamObject, _ label: Int, _ ancestry: ArchivedAncestry) {
        let place = TypedStreamFrame.Place(label: label, position: frames[frames.count - 1].valueCount)
        frames.append(TypedStreamFrame(cursor: TypedStreamCursor(object), place: place, ancestry: ancestry))
    }

    private func build(_ label: Int, _ ancestry: ArchivedAncestry) throws -> AnyObject {
        let type: AnyClass = try resolve(ancestry)
        try check(type, ancestry)
        let object: AnyObject
        if let maker = FoundationReading.maker(of: type) {
            object = try maker(self, label, ancestry)
        } else {
            guard let coding = type as? any NSCoding.Type else {
                throw ArchiveError(.classNotAllowed, "\(ClassNames.name(of: type)) is not NSCoding")
            }
            let made = coding.init(coder: self)
            if let failure { throw failure }
            guard let made = made.map({ $0 as AnyObject }) else {
                throw ArchiveError(
                    .corrupt, "\(ClassNames.name(of: type)) made nothing of what the archive has for it")
            }
            object = made
            // How objects of the program's classes are compared is up to them.
            frames[frames.count - 1].cost = ComparisonCost()
        }
        if let failure { throw failure }
        try expectEnd(of: Self.printable(ancestry.name ?? ""))
        return object
    }

    /// Records the object to use for a new one, after it was asked for a replacement.
    private func settled(_ original: AnyObject, _ label: Int) throws -> AnyObject {
        var object = original
        if let awakening = original as? any NSCodingAwakening, let other = awakening.awakeAfter(using: self) {
            object = other as AnyObject
        }
        if let failure { throw failure }
        slots[label] = .made(
            object, under: lists[lists.count - 1], height: frames[frames.count - 1].height,
            cost: frames[frames.count - 1].cost)
        labels[ObjectIdentifier(object)] = label
        for action in waiting.removeValue(forKey: label) ?? [] { action(object) }
        return object
    }

    // MARK: Classes

    func ancestry(_ classLabel: Int?) throws -> ArchivedAncestry {
        guard let classLabel else { return try ArchivedAncestry(nil, in: graph) }
        if let known = ancestries[classLabel] { return known }
        let ancestry = try ArchivedAncestry(classLabel, in: graph)
        ancestries[classLabel] = ancestry
        return ancestry
    }

    private func ancestry(ofObject label: Int) throws -> ArchivedAncestry {
        guard case .object(let object) = graph.labels[label] else { return try ancestry(nil) }
        return try ancestry(object.classLabel)
    }

    /// The class that a value of `#` names; it must be allowed here.
    func type(_ value: TypedStreamValue) throws -> AnyClass? {
        guard case .label(let label) = value else { return nil }
        lists.append(list(of: nil))
        defer { lists.removeLast() }
        let ancestry = try ancestry(label)
        let type: AnyClass = try resolve(ancestry)
        try check(type, ancestry)
        return type
    }

    /// The class of the program for one of the archive.
    private func resolve(_ ancestry: ArchivedAncestry) throws -> AnyClass {
        guard let name = ancestry.name else { throw ArchiveError(.corrupt, "an object of no class") }
        guard let type = classNamed(name) else { throw unknown(name) }
        guard FoundationReading.maker(of: type) == nil else { return type }
        // Foundation's own code reads keys, and ends the program without them.
        guard Ancestry.of(type).coding == nil else {
            throw ArchiveError(
                .unsupported,
                "\(ClassNames.name(of: type)) is a class of Foundation, or a subclass of one, that has no form in typedstreams"
            )
        }
        return type
    }

    func classNamed(_ name: String) -> AnyClass? {
        if let type = classMap[name] ?? ClassMap.unarchivers.withLock({ $0[name] }) { return type }
        let name = otherNames[name] ?? name
        if let type = FoundationReading.classes[name] { return type }
        if let type = lists[lists.count - 1]?.names[name] { return type }
        for list in listsByClasses.values { if let type = list.names[name] { return type } }
        return lists[lists.count - 1] == nil ? ClassNames.find(name) : nil
    }

    private func unknown(_ name: String) -> ArchiveError {
        ArchiveError(
            .classNotAllowed,
            "the class \(Self.printable(name)) is not known, or not allowed here: name a class in the call that decodes "
                + "or opens, and set the class for the name if it has another one")
    }

    private func refused(_ type: AnyClass) -> ArchiveError {
        ArchiveError(
            .classNotAllowed,
            "\(ClassNames.name(of: type)) is not allowed here: name the class in the call that decodes or opens")
    }

    // MARK: Lists

    private func list(of classes: [AnyClass]?) -> AllowList? {
        guard let current = lists[lists.count - 1] else { return nil }
        guard let classes else { return current.isWidened ? current : current.widened }
        let key = classes.map { ObjectIdentifier($0) }
        if let known = listsByClasses[key] { return known }
        let list = AllowList.of(classes)
        listsByClasses[key] = list
        return list
    }

    /// Checks that a class is allowed here, and that the archive gives it no superclasses that are not.
    private func check(_ type: AnyClass, _ ancestry: ArchivedAncestry) throws {
        guard let list = lists[lists.count - 1] else { return }
        guard list.allows(type) else { throw refused(type) }
        for member in ancestry.members.dropFirst()
        where !Self.roots.contains(member.name) && !Self.isSubclass(type, ofClassNamed: member.name) {
            guard let other = classNamed(member.name) else { throw unknown(member.name) }
            guard ClassNames.isSubclass(type, of: other) || list.allows(other) else { throw refused(other) }
        }
    }

    /// Whether a class of the program has a superclass of this name.
    private static func isSubclass(_ type: AnyClass, ofClassNamed name: String) -> Bool {
        ClassNames.superclasses(of: type).contains { isName(name, of: $0) }
    }

    /// Whether a name is that of a class, with or without its module.
    static func isName(_ name: String, of known: String) -> Bool { known == name || known.hasSuffix("." + name) }

    private static let roots: Set<String> = ["NSObject", "Object"]

    /// Checks that an object made under another list, and the content of a collection, are allowed here, too.
    private func verify(_ label: Int) throws {
        guard lists[lists.count - 1] != nil else { return }
        var pending = [label]
        var seen: Set<Int> = []
        while let label = pending.popLast() {
            guard seen.insert(label).inserted, case .object(let object) = graph.labels[label] else { continue }
            let ancestry = try ancestry(object.classLabel)
            let type: AnyClass = try resolve(ancestry)
            try check(type, ancestry)
            guard NativeDecoding.emptyCollection(of: type) != nil else { continue }
            for group in object.groups where group.type.description == "@" {
                for case .label(let next) in group.values { pending.append(next) }
            }
        }
    }

    // MARK: Names

    /// Makes objects of `type` for a class name in this archive; nil removes the setting.
    ///
    /// The class must still be allowed where it occurs. `NSCodingUnarchiver.setClass(_:forClassName:)` sets it for all
    /// archives.
    public func setClass(_ type: AnyClass?, forClassName name: String) { classMap[name] = type }

    /// The class set for a name in this archive.
    public func `class`(forClassName name: String) -> AnyClass? { classMap[name] }

    /// Takes a class name in this archive for another one, as `NSUnarchiver` does.
    ///
    /// - Parameters:
    ///   - name: The name in the archive.
    ///   - trueName: The name of a class of the program, or of Foundation.
    public func decodeClassName(_ name: String, asClassName trueName: String) {
        otherNames[name] = trueName == name ? nil : trueName
    }

    /// The name that stands for a class name in this archive: the name itself if no other was set.
    public func className(decodedForArchiveClassName name: String) -> String { otherNames[name] ?? name }
}
