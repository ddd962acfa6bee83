extension ObjectEncoder {
    /// The record of a type; the encoder keeps it.
    @inline(__always)
    func record(for type: Any.Type, kind: Shape.Kind) -> Unmanaged<TypeRecord> {
        let id = ObjectIdentifier(type)
        if state.lastType == id, let record = state.lastRecord { return record }
        return findRecord(for: type, id, kind)
    }

    @inline(never)
    private func findRecord(for type: Any.Type, _ id: ObjectIdentifier, _ kind: Shape.Kind) -> Unmanaged<TypeRecord> {
        let record: TypeRecord
        if let known = state.records[id] {
            record = known
        } else {
            record = makeRecord(for: type, id, kind)
            state.records[id] = record
        }
        state.lastType = id
        let kept = Unmanaged.passUnretained(record)
        state.lastRecord = kept
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
    func localIndex(_ variant: TypeRecord.Variant) -> UInt16 {
        if variant.epoch != state.epoch { number(variant) }
        return variant.local
    }

    @inline(never)
    private func number(_ variant: TypeRecord.Variant) {
        if tables.shapes.count >= min(limits.shapes, 0xFFFF) {
            // Functions that return containers cannot throw: the next throwing call reports this.
            state.failure = ArchiveError(.limit, "more than \(limits.shapes) shapes")
            return variant.number(0, in: variant.epoch)
        }
        variant.number(UInt16(tables.shapes.count), in: state.epoch)
        tables.shapes.append(variant.shape)
    }

    /// Begins a record in the current scope: writes the predicted shape's number, to be corrected at the end.
    ///
    /// A shape that is new to this archive gets its number only at the end. The prediction may come from another
    /// archive, for another reader: the shape must not appear in this one before a value has it.
    @inline(__always)
    func openRecord(_ record: Unmanaged<TypeRecord>) {
        scope.open(record, at: output.count)
        guard let variant = record._withUnsafeGuaranteedRef({ $0.predicted }) else {
            return output.fixed(UInt16.max)
        }
        scope.predict(variant)
        guard variant.epoch == state.epoch else { return openFirst(variant) }
        output.fixed(variant.local)
        scope.settle(variant)
        if variant.shape.layout == .explicit { openExplicit() }
    }

    /// Begins a record whose predicted shape is new to this archive.
    @inline(never)
    private func openFirst(_ variant: TypeRecord.Variant) {
        guard variant.shape.layout == .explicit else { return output.fixed(UInt16.max) }
        // The shape has no keys and fits all values.
        output.fixed(localIndex(variant))
        scope.settle(variant)
        openExplicit()
    }

    @inline(never)
    func openExplicit() {
        scope.openCounted(.explicit, at: output.count)
        output.paddedVarint()
    }

    /// Begins the body of an object that is a single value.
    func openSingleBody() {
        let record = record(for: scope.type, kind: .object)
        output.fixed(localIndex(record.takeUnretainedValue().bare(.single)))
    }

    /// Ends the current scope: corrects what was predicted, and puts deferred values in place.
    @inline(__always)
    func closeScope() throws {
        if scope.isAsPredicted { return }
        try closeUnpredicted()
    }

    @inline(never)
    private func closeUnpredicted() throws {
        if let failure = state.failure { throw failure }
        if scope.layout == .unopened {
            if !scope.isBody { output.byte(Tag.record) }
            openRecord(record(for: scope.type, kind: scope.kind))
        }
        if let extras = scope.extras?.takeUnretainedValue(), !extras.deferred.isEmpty {
            try place(extras.deferred)
        }
        switch scope.layout {
        case .keyed:
            if let variant = scope.settledAsPredicted {
                output.patch(localIndex(variant), at: scope.start)
                if let failure = state.failure { throw failure }
                return
            }
            guard let record = scope.record?.takeUnretainedValue() else { return }
            do {
                let variant = try record.settle(scope.writtenKeys, limit: limits.keys)
                output.patch(localIndex(variant), at: scope.start)
            } catch {
                throw fail(error)
            }
            if let failure = state.failure { throw failure }
        case .explicit, .list:
            guard scope.cursor <= limits.collection else {
                throw fail(ArchiveError(.limit, "more than \(limits.collection) elements"))
            }
            output.patchPadded(scope.cursor, at: scope.start)
        case .closed, .unopened, .single: break
        }
    }

    // MARK: Values of types that code themselves

    /// Calls `body` with a new scope for a value of `type`, and closes it.
    @inline(__always)
    func withValueScope(of type: Any.Type, isBody: Bool, _ body: (Int) throws -> Void) throws {
        let outer = scope
        try checkDepth()
        state.depth &+= 1
        let serial = state.nextSerial()
        scope = EncoderScope(of: type, serial: serial, .unopened, isBody: isBody)
        defer {
            replaceScope(outer)
            state.depth &-= 1
        }
        try body(serial)
        try closeScope()
    }

    /// Throws if another level of nesting would be too many.
    @inline(__always)
    func checkDepth() throws {
        guard state.depth < limits.depth else {
            throw fail(ArchiveError(.limit, "values nested deeper than \(limits.depth)"))
        }
    }

    // MARK: Deferred values

    /// Makes a value to be written at any time until the current scope closes.
    func deferValue(key: String?) -> DeferredValue {
        let value = DeferredValue(scope: EncoderScope(of: NestedValue.self, serial: state.nextSerial(), .unopened))
        scope.madeExtras().deferred.append((key, value))
        return value
    }

    /// Makes a deferred value for the list elements that follow a nested container.
    func deferElements() -> DeferredValue {
        let extras = scope.madeExtras()
        if let last = extras.deferred.last?.value, last.elements { return last }
        let value = DeferredValue(scope: EncoderScope(of: NestedValue.self, serial: 0, .single), elements: true)
        extras.deferred.append((nil, value))
        return value
    }

    /// Redirects what `body` writes into `value`.
    func within<R>(_ value: DeferredValue, _ body: () throws -> R) rethrows -> R {
        swap(&output, &value.out)
        swap(&scope, &value.scope)
        state.deferredDepth += 1
        state.depth += 1
        defer {
            swap(&output, &value.out)
            swap(&scope, &value.scope)
            state.deferredDepth -= 1
            state.depth -= 1
        }
        return try body()
    }

    private func place(_ deferred: [(key: String?, value: DeferredValue)]) throws {
        try checkDepth()
        for (key, value) in deferred {
            if let key { try self.key(key) }
            if !value.elements { try within(value) { try closeScope() } }
            output.append(value.out.bytes)
        }
    }
}
