import Synchronization

extension ObjectDecoder {
    /// The class of an object with the shape `number`, where `expected` is requested.
    @inline(__always)
    func resolve<T: AnyObject & Decodable>(
        _ number: Int, _ expected: T.Type, _ itself: ResolvedClass
    ) throws -> ResolvedClass {
        if let found = state.shapes[number].found(for: ObjectIdentifier(expected), notes.listIdentity) { return found }
        return try resolveAnew(number, expected, itself)
    }

    @inline(never)
    private func resolveAnew<T: AnyObject & Decodable>(
        _ number: Int, _ expected: T.Type, _ itself: ResolvedClass
    ) throws -> ResolvedClass {
        let key = ResolutionKey(shape: number, type: ObjectIdentifier(expected), list: notes.listIdentity)
        let found: ResolvedClass
        if let known = notes.resolutions.isEmpty ? nil : notes.resolutions[key] {
            found = known
        } else {
            found = try findQuickly(number, expected, itself)
            // The first class found is stored in the entry only; most shapes never need another.
            if state.shapes[number].isUsed { notes.resolutions[key] = found }
        }
        state.shapes[number].remember(found, for: key.type, key.list)
        return found
    }

    /// Uses the class found for the same shape before, if nothing could change the result.
    private func findQuickly<T: AnyObject & Decodable>(
        _ number: Int, _ expected: T.Type, _ itself: ResolvedClass
    ) throws -> ResolvedClass {
        guard notes.listIdentity == nil, classes.isEmpty, classes.names.isEmpty else {
            return try find(number, expected)
        }
        let address = UInt(bitPattern: ObjectIdentifier(expected))
        if shapes[number].namesake.load(ordering: .relaxed) == address { return itself }
        let found = try find(number, expected)
        // Not if the delegate chose the class: its answer may differ next time.
        if found.type == expected && name(of: expected) == shapes[number].name {
            shapes[number].namesake.store(address, ordering: .relaxed)
        }
        return found
    }

    private func find<T: AnyObject & Decodable>(_ number: Int, _ expected: T.Type) throws -> ResolvedClass {
        let shape = shapes[number]
        guard shape.kind == .object else { throw ArchiveError(.corrupt, "an object with the shape of a value") }
        let type: any (AnyObject & Decodable).Type
        if let found = named(shape.name, expected) {
            type = found
        } else if let found = hasDelegate ? delegate?.unarchiver(cannotDecodeClassNamed: shape.name) : nil {
            type = found
        } else if let found = foreign?.hints[number]?.lazy.compactMap({ self.named($0, expected) }).first {
            type = found
        } else {
            throw ArchiveError(
                .classNotAllowed, expected: expected,
                "expected \(name(of: expected)), found an object of class \(shape.name), not allowed here (a class that "
                    + "was renamed is registered with ClassRegistry.setClass(_:forName:))")
        }
        if let list = notes.list, !list.contains(type) {
            throw ArchiveError(
                .classNotAllowed, expected: expected,
                "class \(shape.name) is not on the list of classes given for this or an outer key")
        }
        if let coding = type as? any ObjectCoding.Type { return .coding(coding) }
        return .plain(type)
    }

    /// Finds a class by name among those the reading code named, never among all classes of the program.
    private func named<T: AnyObject & Decodable>(
        _ name: String, _ expected: T.Type
    ) -> (any (AnyObject & Decodable).Type)? {
        if let renamed = classes.renamed[name] {
            return renamed is T.Type || renamed is any ObjectCoding.Type ? renamed : nil
        }
        if name == self.name(of: expected) { return expected }
        // In archives of Foundation the name of a Swift class begins with its module.
        if foreign != nil, let dot = name.lastIndex(of: ".") {
            return named(String(name[name.index(after: dot)...]), expected)
        }
        if let list = notes.list {
            return list.classes.first { self.name(of: $0) == name }
        }
        if let found = subclass(name, of: expected) { return found }
        if let allowed = classes.allowed[name] {
            // An object of an unrelated class may be replaced with a fitting one in `awakeAfter(using:)`.
            return allowed is T.Type || allowed is any ObjectCoding.Type ? allowed : nil
        }
        return nil
    }

    private func subclass(_ name: String, of expected: any (AnyObject & Decodable).Type) -> (any ObjectCoding.Type)? {
        guard let expected = expected as? any ObjectCoding.Type else { return nil }
        var seen: Set<ObjectIdentifier> = []
        var waiting = expected.codingSubclasses
        while let type = waiting.popLast() {
            guard seen.insert(ObjectIdentifier(type)).inserted else { continue }
            if self.name(of: type) == name { return type }
            waiting += type.codingSubclasses
        }
        return nil
    }

    func name(of type: any (AnyObject & Decodable).Type) -> String { classes.name(of: type) }

    /// An existing object as the requested type.
    @inline(__always)
    func checked<T: AnyObject>(_ object: AnyObject, _ expected: T.Type) throws -> T {
        if ObjectIdentifier(type(of: object)) == ObjectIdentifier(expected) && notes.list == nil {
            return unsafeDowncast(object, to: T.self)
        }
        return try checkedSlowly(object, expected)
    }

    @inline(never)
    private func checkedSlowly<T: AnyObject>(_ object: AnyObject, _ expected: T.Type) throws -> T {
        guard let fitting = object as? T else {
            throw ArchiveError(
                .classNotAllowed, expected: expected,
                "expected \(unqualifiedName(of: expected)), found an object of class \(unqualifiedName(of: type(of: object)))"
            )
        }
        if let list = notes.list, !list.contains(type(of: object)) {
            throw ArchiveError(
                .classNotAllowed, expected: expected,
                "class \(unqualifiedName(of: type(of: object))) is not on the list of classes given for this or an outer key"
            )
        }
        return fitting
    }

    /// Applies a list of classes to what `body` reads.
    ///
    /// The list must not name classes that an outer list does not.
    func allowing<R>(_ types: [any (AnyObject & Decodable).Type], _ body: () throws -> R) throws -> R {
        let outer = notes.list
        if let outer, let wider = types.first(where: { !outer.contains($0) }) {
            throw ArchiveError(
                .classNotAllowed, "the list of classes names \(unqualifiedName(of: wider)), the list around it does not"
            )
        }
        let list = ClassList(types)
        notes.lists.append(list)
        notes.list = list
        defer { notes.list = outer }
        return try body()
    }
}
