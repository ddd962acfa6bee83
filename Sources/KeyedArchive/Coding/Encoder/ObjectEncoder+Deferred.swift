// Nested containers and super encoders may be written to at any time until the value around them is complete. Each is
// written apart, and put in place then.

extension ObjectEncoder {
    /// Makes a value to be written at any time until the current scope closes.
    ///
    /// - Parameters:
    ///   - key: The user's key; nil in a list.
    ///   - isContainer: Whether a container that was made for the key before is used again.
    ///   - outer: The deferred value that is being written.
    func deferValue(key userKey: String?, isContainer: Bool, in outer: DeferredValue?) -> DeferredValue {
        let key = userKey.map(StoredKey.escaped)
        if isContainer, let key, let known = container(key) { return known }
        let step = userKey.map { ArchiveError.Step.key($0) } ?? .index(scope.cursor - 1)
        let value = DeferredValue(
            scope: EncoderScope(of: NestedValue.self, serial: state.nextSerial(), .unopened, isValue: true), at: step,
            of: scope.serial, outer)
        let before = key == nil ? 0 : scope.writtenKeyCount
        scope.madeExtras().deferred.append(
            DeferredEntry(key: key, keysBefore: before, isContainer: isContainer, value: value))
        return value
    }

    /// The nested container of the current scope for a key, unless something else was encoded for the key since.
    private func container(_ key: String) -> DeferredValue? {
        guard let entry = scope.extras?.takeUnretainedValue().deferred.last(where: { $0.key == key }),
            entry.isContainer, !scope.writtenKeys.dropFirst(entry.keysBefore).contains(key)
        else { return nil }
        return entry.value
    }

    /// Makes a deferred value for the list elements that follow a nested container.
    func deferElements() -> DeferredValue {
        let extras = scope.madeExtras()
        if let last = extras.deferred.last?.value, last.elements { return last }
        let value = DeferredValue(
            scope: EncoderScope(of: NestedValue.self, serial: 0, .single), elements: true, of: scope.serial)
        extras.deferred.append(DeferredEntry(key: nil, keysBefore: 0, isContainer: false, value: value))
        return value
    }

    /// Redirects what `body` writes into `value`.
    ///
    /// - Throws: `ArchiveError.misuse` if something in the value is being written, or the value around it is complete; and what
    ///   the body throws.
    func within<R>(_ value: DeferredValue, _ body: () throws -> R) throws -> R {
        guard value.use == .idle else { throw misplaced(value.serial) }
        value.use = .writing
        defer { value.use = .idle }
        if state.depth >= state.levels.count { state.levels.makeRoom(for: state.depth, deepest: limits.depth) }
        descend()
        swap(&output, &value.out)
        swap(&scope, &value.scope)
        state.deferredDepth += 1
        value.suspended = state.deferred
        state.deferred = Unmanaged.passUnretained(value)
        defer {
            state.deferred = value.suspended
            swap(&output, &value.out)
            swap(&scope, &value.scope)
            state.deferredDepth -= 1
            state.depth -= 1
        }
        return try body()
    }

    /// The error for a container that is used after or beside the value it belongs to.
    ///
    /// It ends the archive, unless that is complete or another one.
    @inline(never)
    func misplaced(_ serial: Int) -> ArchiveError {
        let error = ArchiveError(.misuse, "a container was used after or beside the value it belongs to")
        return state.isFinished || serial <= state.firstSerial && serial != 0 ? error : fail(error)
    }

    /// Puts deferred values in place; of those for one key, only the last, and none if something was encoded later.
    func place(_ deferred: [DeferredEntry]) throws {
        guard state.depth < state.levels.room else { return try deeper(isValue: false) { try placeHere(deferred) } }
        try placeHere(deferred)
    }

    private func placeHere(_ deferred: [DeferredEntry]) throws {
        let isFollowed = deferred.contains { $0.key != nil && scope.writtenKeyCount > $0.keysBefore }
        let direct = isFollowed ? scope.writtenKeys : []
        var last: [String: Int] = [:]
        if deferred.count > 1 {
            for (index, entry) in deferred.enumerated() { if let key = entry.key { last[key] = index } }
        }
        for (index, entry) in deferred.enumerated() {
            if let key = entry.key {
                guard last[key] ?? index == index, !direct.dropFirst(entry.keysBefore).contains(key) else { continue }
                if !scope.takeKey(key) { try append(key: key) }
            }
            if !entry.value.elements { try within(entry.value) { try closeScope() } }
            entry.value.use = .placed
            output.append(entry.value.out.bytes)
        }
    }
}
