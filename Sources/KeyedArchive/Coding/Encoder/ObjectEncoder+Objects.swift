extension ObjectEncoder {
    /// Writes a reference to an object, and queues its body the first time.
    @inline(__always)
    func write<T: ObjectCoding>(object: T) throws {
        if state.lastPlainClass != ObjectIdentifier(T.self) {
            if try writeOtherwise(object) { return }
        }
        let number = try number(of: object)
        output.reference(UInt64(number))
    }

    @inline(__always)
    func address(_ object: AnyObject) -> UInt { UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque()) }

    /// Writes a reference to an object in the archive, even if its class may also travel by reference.
    func writeCopy<T: ObjectCoding>(of object: T) throws {
        let number = try number(of: object)
        output.reference(UInt64(number))
    }

    /// Writes the object by reference if its class is `ExternallyCodable`; returns whether it is.
    @inline(never)
    private func writeOtherwise<T: ObjectCoding>(_ object: T) throws -> Bool {
        if let external = object as? any _ExternallyCodable {
            try writeExternal(external)
            return true
        }
        state.lastPlainClass = ObjectIdentifier(T.self)
        return false
    }

    /// The number of an object, which is queued if it is new.
    ///
    /// - Parameter keeper: What keeps the object alive until the archive is done; nil if the queue has to.
    @inline(__always)
    func number<T: ObjectCoding>(of object: T, keptBy keeper: AnyObject? = nil) throws -> UInt32 {
        let next = UInt32(truncatingIfNeeded: tables.objects.count)
        let address = self.address(object)
        let (isNew, number) = tables.identity.insert(address, number: next)
        if !isNew { return number }
        guard tables.objects.count < state.objectLimit else { throw withdrawn(object, tooManyObjects()) }
        if hasDelegate { return try replace(object) }
        do {
            if let replacement = try object.replacementObject(for: self), replacement !== object {
                return try take(replacement, for: object)
            }
        } catch {
            throw withdrawn(object, error)
        }
        if tables.objects.count != Int(number) { return try take(object, for: object) }
        tables.objects.append(object, .coding(T.self), keptBy: keeper)
        return number
    }

    /// Forgets an object that did not get into the queue: if the error is caught, the archive goes on without it.
    @inline(never)
    private func withdrawn(_ object: AnyObject, _ error: any Error) -> any Error {
        tables.identity.withdraw(address(object))
        return error
    }

    @inline(never)
    func tooManyObjects() -> ArchiveError {
        fail(ArchiveError(.limit, "more than \(state.objectLimit) objects"))
    }

    /// Enters `replacement` under the addresses of both objects; it is not asked for a replacement itself.
    private func take<T: ObjectCoding>(_ replacement: T, for object: any ObjectCoding) throws -> UInt32 {
        // `replacementObject(for:)` may have encoded other objects, so the number is found again.
        let next = UInt32(truncatingIfNeeded: tables.objects.count)
        let old = address(object)
        if replacement === object {
            tables.identity.update(old, number: next)
            tables.objects.append(replacement, .coding(T.self))
            return next
        }
        if hasDelegate { delegate?.archiver(willReplace: object, with: replacement) }
        tables.replaced.append(object)
        let address = self.address(replacement)
        let (isNew, number) = tables.identity.insert(address, number: next)
        tables.identity.update(old, number: number)
        if isNew { tables.objects.append(replacement, .coding(T.self)) }
        return number
    }

    private func replace(_ object: any ObjectCoding) throws -> UInt32 {
        var result = object
        do { result = try object.replacementObject(for: self) ?? object } catch { throw withdrawn(object, error) }
        if let other = delegate?.archiver(willEncode: result) { result = other }
        return try take(result, for: object)
    }

    /// Writes a reference to an instance of a class that is `Codable` but not `ObjectCoding`.
    func writePlain<T: AnyObject & Encodable>(_ object: T) throws {
        let next = UInt32(truncatingIfNeeded: tables.objects.count)
        let address = self.address(object)
        let (isNew, number) = tables.identity.insert(address, number: next)
        if isNew {
            guard tables.objects.count < state.objectLimit else { throw withdrawn(object, tooManyObjects()) }
            tables.objects.append(object, .plain(T.self))
        }
        output.reference(UInt64(number))
    }

    /// Writes the objects of an array as one list of references.
    @inline(__always)
    func write<T: ObjectCoding>(objects: [T]) throws {
        if state.lastPlainClass != ObjectIdentifier(T.self), T.self is any _ExternallyCodable.Type {
            try writeList(objects, ValueWriter<T>.of(T.self))
            return
        }
        try checkCount(objects.count)
        output.counted(Tag.references, objects.count)
        makeRoom(for: objects.count)
        // The array keeps the objects alive, so that none has to be retained.
        let keeper = objects.count >= smallestKept ? ArrayOwner(objects) : nil
        try objects.withUnsafeBufferPointer { elements in
            guard let base = elements.baseAddress else { return }
            // A class instance is its reference.
            try base.withMemoryRebound(to: Unmanaged<T>.self, capacity: elements.count) { references in
                var expected: Int64 = 0
                for index in 0..<elements.count {
                    let met = Int64(
                        try references[index]._withUnsafeGuaranteedRef { try number(of: $0, keptBy: keeper) })
                    output.zigzag(met - expected)
                    expected = met + 1
                }
            }
        }
    }

    /// From this count on, it costs less to keep an array than to retain its elements.
    private var smallestKept: Int { 8 }

    /// Reserves room for objects that are probably new, if they outnumber the known ones.
    ///
    /// Otherwise the tables grow by themselves in few enough steps.
    @inline(__always)
    private func makeRoom(for count: Int) {
        let known = tables.objects.count
        guard count > max(known, 16) else { return }
        let more = min(count, state.objectLimit - known)
        tables.objects.reserve(more)
        tables.identity.reserve(more)
        state.reserveOutput(objects: more)
    }

    func checkCount(_ count: Int) throws {
        guard count <= limits.collection else {
            throw fail(ArchiveError(.limit, "more than \(limits.collection) elements"))
        }
    }

    /// Writes a place for an object that is only archived if something else archives it.
    func writeConditional(_ object: AnyObject) {
        output.byte(Tag.conditional)
        tables.conditionals.append((output.count, object))
        output.fixed(UInt32.max)
    }

    // MARK: Bodies

    func writeBodies() throws {
        while let kind = tables.objects.nextKind {
            switch kind {
            case .coding(let type): try writeRun(of: type)
            case .plain(let type): try writePlainRun(of: type)
            }
        }
    }

    /// Writes the bodies of objects in a row that were encoded as the same type.
    private func writeRun<T: ObjectCoding>(of type: T.Type) throws {
        while let object = tables.objects.takeNextInRun(type) {
            let start = output.count &+ tables.blobBytes
            try object._withUnsafeGuaranteedRef { try writeBody($0) }
            tables.lengths.varint(UInt64(output.count &+ tables.blobBytes &- start))
        }
    }

    private func writePlainRun<T: AnyObject & Encodable>(of type: T.Type) throws {
        while let object = tables.objects.takeNextInRun(type) {
            let start = output.count &+ tables.blobBytes
            try object._withUnsafeGuaranteedRef { try writeBody(plain: $0) }
            tables.lengths.varint(UInt64(output.count &+ tables.blobBytes &- start))
        }
    }

    @inline(__always)
    private func writeBody<T: ObjectCoding>(_ object: T) throws {
        let type: T.Type = Swift.type(of: object)
        let serial = state.nextSerial()
        if let shape = scope.reopenBody(of: type, serial: serial, at: output.count) {
            output.fixed(shape)
        } else {
            openBody(of: type, serial)
        }
        do {
            try object.encode(with: self)
            try closeScope()
        } catch {
            throw fail(error)
        }
        if hasDelegate { delegate?.archiver(didEncode: object) }
    }

    @inline(never)
    private func openBody(of type: Any.Type, _ serial: Int) {
        replaceScope(EncoderScope(of: type, serial: serial, .closed, isBody: true))
        if isSequential {
            openSequential(record(for: type, kind: .object))
        } else {
            openRecord(record(for: type, kind: .object))
        }
    }
}
