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
            throw ArchiveError(.typeMismatch, "expected \(name(of: type)), found nil")
        }
        if let external = type as? any ExternallyCodable.Type {
            guard let object = try readExternal(external) as? T else {
                throw ArchiveError(.typeMismatch, "expected \(name(of: type)), found another object by reference")
            }
            return object
        }
        throw mismatch(name(of: type))
    }

    /// The object with a number, made if it does not exist yet.
    @inline(__always)
    func object<T: ObjectCoding>(_ number: UInt64, as type: T.Type) throws -> T {
        guard number < UInt64(state.objectCount) else { throw noSuchObject() }
        let number = Int(truncatingIfNeeded: number)
        if let object = try existing(number) { return try checked(object, type) }
        return try make(number, type, in: frame)
    }

    /// The object that is the next element of a list, made if it does not exist yet.
    ///
    /// It may leave another frame than the list's open.
    ///
    /// - Parameters:
    ///   - list: The list's frame.
    ///   - height: The list's height, which grows with that of the object.
    ///   - isKept: Whether the caller keeps the object alive until the archive is read, should it be made now.
    @inline(__always)
    func element<T: ObjectCoding>(
        _ number: UInt64, as type: T.Type, in list: DecoderFrame, _ height: inout Int32, isKept: Bool
    ) throws -> T {
        guard number < UInt64(state.objectCount) else { throw noSuchObject() }
        let number = Int(truncatingIfNeeded: number)
        let object: T
        if let existing = try existing(number) {
            object = try checked(existing, type)
        } else {
            object = try make(number, type, in: list, isKept: isKept)
        }
        if let heights = notes.heights { height = max(height, heights[number] + 1) }
        return object
    }

    @inline(never)
    func noSuchObject() -> ArchiveError { ArchiveError(.corrupt, "an object that is not in the archive") }

    /// The object if it is already made; throws if it failed or is being made.
    @inline(__always)
    func existing(_ number: Int) throws -> AnyObject? {
        let slot = state.slots[number]
        if slot == .empty { return nil }
        guard let object = slot.object else { throw unavailable(number) }
        if let heights = notes.heights {
            frame.height = max(frame.height, heights[number] + 1)
        }
        return object.takeUnretainedValue()
    }

    @inline(never)
    private func unavailable(_ number: Int) -> ArchiveError {
        if let failure = notes.failures[number] { return failure }
        return ArchiveError(
            .cycle, "an object refers to itself through others: one of the classes must use decodeReference")
    }

    /// Makes an object.
    ///
    /// - Parameters:
    ///   - outer: The frame to open again.
    ///   - isKept: Whether the caller keeps the object alive; then it also opens the frame again.
    private func make<T: ObjectCoding>(
        _ number: Int, _ type: T.Type, in outer: DecoderFrame, isKept: Bool = false
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
            if try makeFromBelow(number), let object = try existing(number) { return try checked(object, type) }
        }
        enter(number)
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
            throw abandon(number, outer, error)
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
        if state.depth >= Self.deepObjects, try makeFromBelow(number), let object = try existing(number) {
            return object
        }
        let outer = frame
        enter(number)
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
            throw abandon(number, outer, error)
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
            throw mismatch(unqualifiedName(of: type))
        }
        let number = try input.varint()
        guard number < UInt64(state.objectCount) else { throw noSuchObject() }
        if let object = try existing(Int(number)) { return try checked(object, type) }
        var source = body(Int(number))
        let (shape, shapeNumber) = try readShape(&source)
        let found = try resolve(shapeNumber, type, .plain(type))
        return try checked(try make(Int(number), found, shape, source), type)
    }

    @inline(__always)
    func body(_ number: Int) -> ByteSource { state.bodies.body(number) }

    @inline(__always)
    private func enter(_ number: Int) {
        state.slots[number] = .building
        state.depth &+= 1
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
    private func abandon(_ number: Int, _ outer: DecoderFrame, _ error: any Error) -> ArchiveError {
        let error = ArchiveError.wrapping(error, at: nil)
        frame.dispose()
        frame = outer
        state.depth &-= 1
        state.slots[number] = .failed
        notes.failures[number] = error
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
            notes.failures[number] = tooLong()
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
        guard try source.byte() == Tag.reference else { throw mismatch("an object") }
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
