extension ObjectEncoder {
    /// What is known of a type, by the type; the encoder keeps it.
    @inline(__always)
    func record(for type: Any.Type, kind: Shape.Kind) -> Unmanaged<TypeRecord> {
        let id = ObjectIdentifier(type)
        if state.pointee.lastType == id, let record = state.pointee.lastRecord { return record }
        return findRecord(for: type, id, kind)
    }

    @inline(never)
    private func findRecord(for type: Any.Type, _ id: ObjectIdentifier, _ kind: Shape.Kind) -> Unmanaged<TypeRecord> {
        let record: TypeRecord
        if let known = state.pointee.records[id] {
            record = known
        } else {
            record = makeRecord(for: type, id, kind)
            state.pointee.records[id] = record
        }
        state.pointee.lastType = id
        let kept = Unmanaged.passUnretained(record)
        state.pointee.lastRecord = kept
        return kept
    }

    private func makeRecord(for type: Any.Type, _ id: ObjectIdentifier, _ kind: Shape.Kind) -> TypeRecord {
        if let type = type as? any ObjectCoding.Type {
            return TypeRecord(name: classes.names[id] ?? type.className, version: type.classVersion, kind: kind)
        }
        let isNamed = type != NestedValue.self && type != RootKeys.self
        let name = isNamed ? classes.names[id] ?? unqualifiedName(of: type) : ""
        return TypeRecord(name: name, version: 0, kind: kind)
    }

    /// The number of a variant's shape in this archive.
    @inline(__always)
    func localIndex(_ variant: UnsafeMutablePointer<TypeRecord.Variant>) -> UInt16 {
        if variant.pointee.epoch != state.pointee.epoch { number(variant) }
        return variant.pointee.local
    }

    @inline(never)
    private func number(_ variant: UnsafeMutablePointer<TypeRecord.Variant>) {
        let s = state
        if s.pointee.shapes.count >= min(limits.shapes, 0xFFFF) {
            // Containers are handed out by functions that do not throw: the next that does says so.
            s.pointee.failure = ArchiveError(.limit, "more than \(limits.shapes) shapes")
            variant.pointee.local = 0
            return
        }
        variant.pointee.epoch = s.pointee.epoch
        variant.pointee.local = UInt16(s.pointee.shapes.count)
        s.pointee.shapes.append(variant.pointee.shape)
    }

    /// Begins a record in the current scope: writes the predicted shape's number, to be corrected at the end.
    ///
    /// A shape that this archive does not have yet gets its number at the end only: predicted by what other archives held,
    /// perhaps for others to read, it must not get into this one before a value has it.
    @inline(__always)
    func openRecord(_ record: Unmanaged<TypeRecord>) {
        let s = state
        s.pointee.scope.record = record
        s.pointee.scope.layout = .keyed
        s.pointee.scope.start = s.pointee.out.count
        guard let variant = record._withUnsafeGuaranteedRef({ $0.predicted }) else {
            return s.pointee.out.fixed(UInt16.max)
        }
        s.pointee.scope.keys = variant.pointee.keys
        s.pointee.scope.keyCount = variant.pointee.keyCount
        guard variant.pointee.epoch == s.pointee.epoch else { return openFirst(variant) }
        s.pointee.out.fixed(variant.pointee.local)
        s.pointee.scope.variant = variant
        if variant.pointee.shape.layout == .explicit { openExplicit() }
    }

    /// Begins a record whose predicted shape no value of the archive has had.
    @inline(never)
    private func openFirst(_ variant: UnsafeMutablePointer<TypeRecord.Variant>) {
        let s = state
        guard variant.pointee.shape.layout == .explicit else { return s.pointee.out.fixed(UInt16.max) }
        // Its shape has no keys: it fits all values.
        s.pointee.out.fixed(localIndex(variant))
        s.pointee.scope.variant = variant
        openExplicit()
    }

    @inline(never)
    func openExplicit() {
        state.pointee.scope.layout = .explicit
        state.pointee.scope.start = state.pointee.out.count
        state.pointee.out.paddedVarint()
    }

    /// Begins the body of an object that is a single value.
    func openSingleBody() {
        let s = state
        let record = record(for: s.pointee.scope.type, kind: .object)
        s.pointee.out.fixed(localIndex(record.takeUnretainedValue().bare(.single)))
    }

    /// Ends the current scope: corrects what was predicted, and puts deferred values in place.
    @inline(__always)
    func closeScope() throws {
        let s = state
        if s.pointee.scope.layout == .keyed && s.pointee.scope.extras == nil
            && s.pointee.scope.variant != nil && s.pointee.scope.cursor == s.pointee.scope.keyCount
        {
            return
        }
        try closeUnpredicted()
    }

    @inline(never)
    private func closeUnpredicted() throws {
        let s = state
        if let failure = s.pointee.failure { throw failure }
        if s.pointee.scope.layout == .unopened {
            if !s.pointee.scope.isBody { s.pointee.out.byte(Tag.record) }
            openRecord(record(for: s.pointee.scope.type, kind: s.pointee.scope.isBody ? .object : .record))
        }
        if let extras = s.pointee.scope.extras?.takeUnretainedValue(), !extras.deferred.isEmpty {
            try place(extras.deferred)
        }
        switch s.pointee.scope.layout {
        case .keyed:
            if let variant = settledAsPredicted {
                s.pointee.out.patch(localIndex(variant), at: s.pointee.scope.start)
                if let failure = s.pointee.failure { throw failure }
                return
            }
            let keys =
                s.pointee.scope.extras?.takeUnretainedValue().keys
                ?? Array(UnsafeBufferPointer(start: s.pointee.scope.keys, count: s.pointee.scope.cursor))
            guard let record = s.pointee.scope.record?.takeUnretainedValue() else { return }
            do {
                let variant = try record.settle(keys, limit: limits.keys)
                s.pointee.out.patch(localIndex(variant), at: s.pointee.scope.start)
            } catch {
                throw fail(error)
            }
            if let failure = s.pointee.failure { throw failure }
        case .explicit, .list:
            guard s.pointee.scope.cursor <= limits.collection else {
                throw fail(ArchiveError(.limit, "more than \(limits.collection) elements"))
            }
            s.pointee.out.patchPadded(s.pointee.scope.cursor, at: s.pointee.scope.start)
        case .closed, .unopened, .single: break
        }
    }

    /// The shape that was predicted, if the record has all its keys in their order.
    private var settledAsPredicted: UnsafeMutablePointer<TypeRecord.Variant>? {
        let s = state
        guard s.pointee.scope.extras == nil, s.pointee.scope.cursor == s.pointee.scope.keyCount,
            let predicted = s.pointee.scope.record?.takeUnretainedValue().predicted,
            predicted.pointee.keys == s.pointee.scope.keys
        else { return nil }
        return predicted
    }

    // MARK: Values of types that code themselves

    /// Calls `body` with a new scope for a value of `type`, and closes it.
    @inline(__always)
    func withValueScope(of type: Any.Type, isBody: Bool, _ body: (Int) throws -> Void) throws {
        let s = state
        let outer = s.pointee.scope
        guard s.pointee.depth < limits.depth else {
            throw fail(ArchiveError(.limit, "values nested deeper than \(limits.depth)"))
        }
        s.pointee.depth &+= 1
        s.pointee.serials &+= 1
        s.pointee.scope = EncoderScope(
            type: type, serial: s.pointee.serials, layout: .unopened, isBody: isBody)
        defer {
            replaceScope(outer)
            s.pointee.depth &-= 1
        }
        try body(s.pointee.serials)
        try closeScope()
    }

    func writeCodable<T: Encodable>(_ value: T) throws {
        try withValueScope(of: T.self, isBody: false) { serial in
            try value.encode(to: ArchiveValueEncoder(coder: self, serial: serial, deferred: nil))
        }
    }

    // MARK: Deferred values

    /// Makes a value to be written at any time until the current scope closes.
    func deferValue(key: String?) -> DeferredValue {
        let s = state
        s.pointee.serials += 1
        let value = DeferredValue(
            scope: EncoderScope(
                type: NestedValue.self, serial: s.pointee.serials, layout: .unopened, isBody: false))
        scopeExtras().deferred.append((key, value))
        return value
    }

    /// Makes a place for the elements of a list that follow a deferred one.
    func deferElements() -> DeferredValue {
        let extras = scopeExtras()
        if let last = extras.deferred.last?.value, last.elements { return last }
        let value = DeferredValue(
            scope: EncoderScope(type: NestedValue.self, serial: 0, layout: .single, isBody: false), elements: true)
        extras.deferred.append((nil, value))
        return value
    }

    /// Redirects what `body` writes into `value`.
    func within<R>(_ value: DeferredValue, _ body: () throws -> R) rethrows -> R {
        let s = state
        swap(&s.pointee.out, &value.out)
        swap(&s.pointee.scope, &value.scope)
        s.pointee.deferredDepth += 1
        s.pointee.depth += 1
        defer {
            swap(&s.pointee.out, &value.out)
            swap(&s.pointee.scope, &value.scope)
            s.pointee.deferredDepth -= 1
            s.pointee.depth -= 1
        }
        return try body()
    }

    private func place(_ deferred: [(key: String?, value: DeferredValue)]) throws {
        guard state.pointee.depth < limits.depth else {
            throw fail(ArchiveError(.limit, "values nested deeper than \(limits.depth)"))
        }
        for (key, value) in deferred {
            if let key { try self.key(key) }
            if !value.elements { try within(value) { try closeScope() } }
            state.pointee.out.append(value.out.bytes)
        }
    }
}
