extension ObjectDecoder {
    /// Reads a reference to an object, and makes the object if it does not exist yet.
    @inline(__always)
    func readObject<T: ObjectCoding>(_ type: T.Type) throws -> T {
        guard input.take(Tag.reference) else { return try readOtherwise(type) }
        return try object(try input.varint(), as: type)
    }

    @inline(never)
    private func readOtherwise<T: ObjectCoding>(_ type: T.Type) throws -> T {
        if input.take(Tag.conditional) {
            let number = try input.fixed(UInt32.self)
            if number != .max { return try object(UInt64(number), as: type) }
            throw ArchiveError(expected: type, isAbsent: true, "expected \(name(of: type)), found nil")
        }
        if let external = type as? any _ExternallyCodable.Type {
            guard let object = try readExternal(external) as? T else {
                throw ArchiveError(expected: type, "expected \(name(of: type)), found another object by reference")
            }
            return object
        }
        throw mismatch(name(of: type), type)
    }

    /// The object with a number, made if it does not exist yet.
    @inline(__always)
    func object<T: ObjectCoding>(_ number: UInt64, as type: T.Type) throws -> T {
        guard number < UInt64(state.objectCount) else { throw noSuchObject() }
        let number = Int(truncatingIfNeeded: number)
        if let object = try existing(number, type) { return try checked(object, number, type) }
        return try make(number, type, in: frame)
    }

    /// The object that is the next element of a list, made if it does not exist yet.
    ///
    /// It may leave another frame than the list's open.
    ///
    /// - Parameters:
    ///   - list: The list's frame.
    ///   - index: The object's index in the list.
    ///   - height: The list's height, which grows with that of the object.
    ///   - isKept: Whether the caller keeps the object alive until the archive is read, should it be made now.
    @inline(__always)
    func element<T: ObjectCoding>(
        _ number: UInt64, as type: T.Type, in list: DecoderFrame, at index: Int, _ height: inout Int32, isKept: Bool
    ) throws -> T {
        guard number < UInt64(state.objectCount) else { throw noSuchObject() }
        let number = Int(truncatingIfNeeded: number)
        let object: T
        if let existing = try existing(number, type) {
            object = try checked(existing, number, type)
        } else {
            object = try make(number, type, in: list, isKept: isKept, element: index)
        }
        if let heights = notes.heights { height = max(height, heights[number] + 1) }
        return object
    }

    @inline(never)
    func noSuchObject() -> ArchiveError { ArchiveError(.corrupt, "an object that is not in the archive") }

    /// The object if it is already made; throws if it is being made, or if the class to make has failed.
    @inline(__always)
    func existing<T: AnyObject & Decodable>(_ number: Int, _ type: T.Type) throws -> AnyObject? {
        let slot = state.slots[number]
        if slot == .empty { return nil }
        guard let object = slot.object else {
            try checkAttempt(number, type)
            return nil
        }
        if let heights = notes.heights {
            frame.height = max(frame.height, heights[number] + 1)
        }
        return object.takeUnretainedValue()
    }

    /// An existing object as the requested type.
    ///
    /// If that type was tried first and failed, the error is the same as then.
    @inline(__always)
    private func checked<T: AnyObject>(_ object: AnyObject, _ number: Int, _ type: T.Type) throws -> T {
        do { return try checked(object, type) } catch {
            throw notes.failures[number]?.first { $0.type == type }?.error ?? error
        }
    }

    /// Throws unless another class is to be tried for an object that could not be made.
    ///
    /// A type that tries several classes gets the same errors as from values, and no class is tried twice.
    @inline(never)
    private func checkAttempt<T: AnyObject & Decodable>(_ number: Int, _ type: T.Type) throws {
        guard let failures = notes.failures[number], state.slots[number] == .failed else {
            throw ArchiveError(
                .cycle, "an object refers to itself through others: one of the classes must use decodeReference")
        }
        var source = body(number)
        let (_, shapeNumber) = try readShape(&source)
        let found = try resolve(shapeNumber, type, (type as? any ObjectCoding.Type).map { .coding($0) } ?? .plain(type))
        if let failure = failures.first(where: { $0.type == nil || $0.type == found.type }) { throw failure.error }
        state.slots[number] = .empty
    }

    /// Makes an object.
    ///
    /// - Parameters:
    ///   - outer: The frame to open again.
    ///   - isKept: Whether the caller keeps the object alive; then it also opens the frame again.
    ///   - element: The object's index in a list.
    private func make<T: ObjectCoding>(
        _ number: Int, _ type: T.Type, in outer: DecoderFrame, isKept: Bool = false, element: Int = -1
    ) throws -> T {
        var source = body(number)
        let (shape, shapeNumber) = try readShape(&source)
        let found = try resolve(shapeNumber, type, .coding(type))
        if found.type != type {
            frame = outer
            return try checked(try make(number, found, shape, source), type)
        }
        if state.depth >= Self.deepObjects {
            frame = outer
            if state.depth >= state.levels.segmentEnd {
                return try deeper { try make(number, type, in: outer, isKept: isKept, element: element) }
            }
            if try makeFromBelow(number), let object = try existing(number, type) { return try checked(object, type) }
        }
        enter(number, outer, element: element)
        let serial = state.nextSerial()
        let isOpen = frame.reopen(shape, at: source, serial: serial, object: number)
        if !isOpen { frame = DecoderFrame(closedAt: source, serial: serial, object: number) }
        let object: T
        let replacement: (any ObjectCoding)?
        do {
            if !isOpen { try openShape(shape) }
            object = try T(coder: self)
            replacement = hasDelegate ? try awake(object) : try object.awakeAfter(using: self)
            if input.remaining > 0 { try frame.checkEnd() }
        } catch {
            throw abandon(number, type, outer, error)
        }
        if let replacement, replacement !== object {
            leave(number, outer, owning: replacement)
            try delivered(number)
            return try checked(replacement, type)
        }
        if isKept, notes.heights == nil || frame.height == 0, notes.waiting.isEmpty {
            // Nothing can fail any more, so the caller gets the object. A height of 0 need not be noted.
            state.slots[number] = ObjectSlot(borrowing: object)
            frame.dispose()
            state.depth &-= 1
            return object
        }
        leave(number, outer, owning: object)
        try delivered(number)
        return object
    }

    /// Makes an object of a class that is not the static type.
    func make(_ number: Int, _ type: ResolvedClass, _ shape: Unmanaged<Shape>, _ source: ByteSource) throws -> AnyObject
    {
        if state.depth >= Self.deepObjects {
            if state.depth >= state.levels.segmentEnd { return try deeper { try make(number, type, shape, source) } }
            if try makeFromBelow(number), let object = try existing(number, type.type) { return object }
        }
        let outer = frame
        enter(number, outer)
        frame = DecoderFrame(closedAt: source, serial: state.nextSerial(), object: number)
        var result: AnyObject
        do {
            switch type {
            case .coding(let type):
                try openShape(shape)
                let object = try type.init(coder: self)
                result = (hasDelegate ? try awake(object) : try object.awakeAfter(using: self)) ?? object
            case .plain(let type):
                frame.openBody(shape)
                result = try readBody(type)
            }
            if input.remaining > 0 { try frame.checkEnd() }
        } catch {
            throw abandon(number, type.type, outer, error)
        }
        leave(number, outer, owning: result)
        try delivered(number)
        return result
    }

    /// Reads a reference to an instance of a class that is `Codable` but not `ObjectCoding`.
    func readObject<T: AnyObject & Decodable>(plain type: T.Type) throws -> T {
        guard input.take(Tag.reference) else {
            // Other archivers know such a class as a value only.
            if foreign != nil { return try readCodable(type) }
            throw mismatch(unqualifiedName(of: type), type)
        }
        let number = try input.varint()
        guard number < UInt64(state.objectCount) else { throw noSuchObject() }
        if let object = try existing(Int(number), type) { return try checked(object, Int(number), type) }
        var source = body(Int(number))
        let (shape, shapeNumber) = try readShape(&source)
        let found = try resolve(shapeNumber, type, .plain(type))
        return try checked(try make(Int(number), found, shape, source), type)
    }

    @inline(__always)
    func body(_ number: Int) -> ByteSource { state.bodies.body(number) }

    @inline(__always)
    private func enter(_ number: Int, _ outer: DecoderFrame, element: Int = -1) {
        state.slots[number] = .building
        if state.depth >= state.levels.count { state.levels.makeRoom(for: state.depth, deepest: deepest) }
        descend(from: outer, element: element)
    }

    @inline(__always)
    private func leave(_ number: Int, _ outer: DecoderFrame, owning object: AnyObject) {
        state.owned &+= 1
        leave(number, outer, ObjectSlot(owning: object))
    }

    @inline(__always)
    private func leave(_ number: Int, _ outer: DecoderFrame, _ slot: ObjectSlot) {
        state.slots[number] = slot
        let height = frame.height
        frame.dispose()
        frame = outer
        state.depth &-= 1
        if let heights = notes.heights {
            if height != 0 { heights[number] = height }
            frame.height = max(outer.height, height + 1)
        }
    }

    @inline(never)
    private func abandon(
        _ number: Int, _ type: any (AnyObject & Decodable).Type, _ outer: DecoderFrame, _ error: any Error
    ) -> ArchiveError {
        let error = absorbed(error)
        if !notes.waiting.isEmpty { notes.abandoned.insert(frame.serial) }
        frame.dispose()
        frame = outer
        state.depth &-= 1
        state.slots[number] = .failed
        notes.failures[number, default: []].append(FailedObject(type: type, error: error))
        return error
    }

    /// Finishes a new object: checks bounds, and delivers it to the closures that wait for it.
    @inline(__always)
    private func delivered(_ number: Int) throws {
        if let heights = notes.heights, Int(heights[number]) > limits.chain { throw refuse(number) }
        if !notes.waiting.isEmpty { try deliver(number) }
    }

    /// Removes an object whose chain of references is too long: nothing may refer to it.
    @inline(never)
    private func refuse(_ number: Int) -> ArchiveError {
        if let object = state.slots[number].object {
            state.slots[number] = .failed
            state.owned &-= 1
            notes.failures[number, default: []].append(FailedObject(type: nil, error: tooLong()))
            object.release()
        }
        return tooLong()
    }

    @inline(never)
    func tooLong() -> ArchiveError {
        ArchiveError(.limit, "a path of more than \(limits.chain) references between objects, see ArchiveLimits.chain")
    }

    private func awake(_ object: any ObjectCoding) throws -> (any ObjectCoding)? {
        let result = try object.awakeAfter(using: self) ?? object
        if result !== object { delegate?.unarchiver(didReplace: object, with: result) }
        let final = delegate?.unarchiver(didDecode: result) ?? result
        if final !== result { delegate?.unarchiver(didReplace: result, with: final) }
        return final
    }
}

extension ObjectDecoder {
    /// Reads an object of any class in the list.
    func readAny(_ classes: [any ObjectCoding.Type]) throws -> (any ObjectCoding)? {
        if try readNil() { return nil }
        var source = input
        guard try source.byte() == Tag.reference else { throw mismatch("an object", (any ObjectCoding).self) }
        let number = try source.varint()
        guard number < UInt64(state.objectCount) else { throw noSuchObject() }
        var body = body(Int(number))
        let (shape, index) = try readShape(&body)
        let name = shape.takeUnretainedValue().name
        guard let type = listed(name, in: classes) ?? standIn(name, index, in: classes) else {
            throw ArchiveError(.classNotAllowed, "class \(name) is not on the list of classes given")
        }
        return try readExisting(type)
    }

    /// The class in the list that has a name.
    private func listed(_ name: String, in classes: [any ObjectCoding.Type]) -> (any ObjectCoding.Type)? {
        if let found = classes.renamed(name, self.classes) ?? classes.first(where: { self.name(of: $0) == name }) {
            return found
        }
        // In archives of Foundation the name of a Swift class begins with its module.
        guard foreign != nil, let dot = name.lastIndex(of: ".") else { return nil }
        return listed(String(name[name.index(after: dot)...]), in: classes)
    }

    /// The class in the list to use for one that is not in it, from the delegate or from a hint in the archive.
    private func standIn(
        _ name: String, _ shape: Int, in classes: [any ObjectCoding.Type]
    ) -> (any ObjectCoding.Type)? {
        if let found = hasDelegate ? delegate?.unarchiver(cannotDecodeClassNamed: name) : nil {
            return classes.first { $0 == found }
        }
        return foreign?.hints[shape]?.lazy.compactMap { self.listed($0, in: classes) }.first
    }

    private func readExisting<T: ObjectCoding>(_ type: T.Type) throws -> any ObjectCoding { try readObject(type) }
}

extension [any ObjectCoding.Type] {
    fileprivate func renamed(_ name: String, _ registry: ClassRegistry) -> (any ObjectCoding.Type)? {
        guard let type = registry.renamed[name] else { return nil }
        return first { $0 == type }
    }
}
