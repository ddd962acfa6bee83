extension ObjectDecoder {
    /// Decodes a reference that may lead back to the object being made; delivers the object as soon as it exists.
    ///
    /// An existing object is delivered at once, others when they are made, at the latest before the root is returned.
    ///
    /// - Parameters:
    ///   - type: The class expected.
    ///   - key: The key it was encoded under.
    ///   - deliver: Called with the object; not called for nil.
    /// - Throws: `ArchiveError` if the key is missing or holds another type; the error's path ends in the key. Its code
    ///   is `thrownByType` where the type's own code throws.
    public func decodeReference<T: ObjectCoding>(
        _ type: T.Type, forKey key: String, _ deliver: @escaping (T) -> Void
    ) throws {
        guard try locate(key) else { throw missing(key) }
        do { try readReference(type, key, deliver) } catch { throw failed(error, key) }
    }

    func readReference<T: ObjectCoding>(_ type: T.Type, _ key: String, _ deliver: @escaping (T) -> Void) throws {
        guard let number = try readObjectNumber(type) else { return }
        try whenMade(number, type, key, deliver)
    }

    /// Reads the number of the object referred to; nil for nil.
    private func readObjectNumber(_ type: any ObjectCoding.Type) throws -> Int? {
        let number: UInt64
        if input.take(Tag.reference) {
            number = try input.varint()
        } else if try readNil() {
            return nil
        } else if input.take(Tag.conditional) {
            number = UInt64(try input.fixed(UInt32.self))
        } else {
            throw mismatch(name(of: type), type)
        }
        guard number < UInt64(state.objectCount) else { throw noSuchObject() }
        return Int(number)
    }

    private func whenMade<T: ObjectCoding>(
        _ number: Int, _ type: T.Type, _ key: String, _ deliver: @escaping (T) -> Void
    ) throws {
        let slot = state.slots[number]
        if slot != .empty, slot != .building, let object = try existing(number, type) {
            return deliver(try checked(object, type))
        }
        try scanChains()
        let list = notes.list
        let pending = PendingReference(
            owner: frame.serial, list: list, key: key,
            build: { coder in _ = try coder.object(UInt64(number), as: type) },
            deliver: { coder, object in deliver(try coder.checked(object, type)) })
        notes.waiting[number, default: []].append(pending)
        if state.slots[number] == .empty { notes.postponed.append(number) }
    }

    /// Delivers a new object to the closures that wait for it.
    @inline(never)
    func deliver(_ number: Int) throws {
        guard let waiting = notes.waiting.removeValue(forKey: number) else { return }
        guard let object = state.slots[number].object?.takeUnretainedValue() else { return }
        for pending in live(waiting) { try withList(pending) { try pending.deliver(self, object) } }
    }

    private func withList(_ pending: PendingReference, _ body: () throws -> Void) throws {
        let outer = notes.list
        notes.list = pending.list
        defer { notes.list = outer }
        do { try body() } catch { throw ArchiveError.wrapping(error, at: .key(pending.key)) }
    }

    /// Drops the pending deliveries, after a failure that ends the decoding of a value of the archive.
    func forgetReferences() {
        notes.waiting = [:]
        notes.postponed = []
        notes.abandoned = []
        notes.thrown = nil
    }

    /// The closures that wait for an object.
    private func live(_ waiting: [PendingReference]) -> [PendingReference] {
        notes.abandoned.isEmpty ? waiting : waiting.filter { !notes.abandoned.contains($0.owner) }
    }

    /// Makes the objects that only `decodeReference` asked for.
    func drainReferences() throws {
        while let number = notes.postponed.popLast() {
            guard state.slots[number] == .empty, let waiting = notes.waiting[number] else { continue }
            if let first = live(waiting).first {
                try withList(first) { try first.build(self) }
            } else {
                notes.waiting[number] = nil
            }
        }
        // Closures that still wait, wait for an object that failed.
        let unmade = notes.waiting.filter { !live($0.value).isEmpty }.keys.min()
        notes.waiting = [:]
        notes.abandoned = []
        if let unmade {
            throw notes.failures[unmade]?.last?.error ?? ArchiveError(.corrupt, "an object could not be made")
        }
    }
}
