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
                let variant = try settle(record)
                output.patch(localIndex(variant), at: scope.start)
                if variant.shape.layout == .explicit { try inlineKeys() }
            } catch {
                throw fail(error)
            }
            if let failure = state.failure { throw failure }
        case .explicit, .list:
            if scope.layout == .explicit, !scope.isSequential { try keepLastValues() }
            guard scope.cursor <= limits.collection else {
                throw fail(ArchiveError(.limit, "more than \(limits.collection) elements"))
            }
            output.patchPadded(scope.cursor, at: scope.start)
        case .closed, .unopened, .single: break
        }
    }

    private func settle(_ record: TypeRecord) throws -> TypeRecord.Variant {
        if let variant = record.known(scope.writtenKeys) { return variant }
        try keepLastValues()
        if scope.writtenKeyCount > limits.keys { return record.settleInline() }
        return record.settle(scope.writtenKeys, limit: limits.keys)
    }

    // MARK: Values of types that code themselves

    /// Calls `body` with a new scope for a value of `type`, and closes it.
    @inline(__always)
    func withValueScope(of type: Any.Type, isBody: Bool, _ body: (Int) throws -> Void) throws {
        guard state.depth < state.levels.room else {
            return try deeper { try inValueScope(of: type, isBody: isBody, body) }
        }
        try inValueScope(of: type, isBody: isBody, body)
    }

    @inline(__always)
    private func inValueScope(of type: Any.Type, isBody: Bool, _ body: (Int) throws -> Void) throws {
        let outer = scope
        descend()
        let serial = state.nextSerial()
        scope = EncoderScope(of: type, serial: serial, .unopened, isBody: isBody, isValue: true)
        defer {
            replaceScope(outer)
            state.depth &-= 1
        }
        try body(serial)
        try closeScope()
    }

    /// Makes room for another level, and runs `body`, which goes there, on another stack if this one has many levels.
    ///
    /// For values outside of `levels.room` only: it takes stack.
    ///
    /// - Parameter isValue: False for nested containers, which are levels, but not values.
    @inline(never)
    func deeper(isValue: Bool = true, _ body: () throws -> Void) throws {
        guard !isValue || state.depth - state.deferredDepth < limits.depth, state.depth < limits.levels else {
            throw fail(limits.tooDeep)
        }
        state.levels.makeRoom(for: state.depth, deepest: limits.depth)
        guard state.depth >= state.levels.segmentEnd else { return try body() }
        let outer = state.levels.beginSegment(at: state.depth)
        defer { state.levels.endSegment(outer) }
        try StackSegment.run(body)
    }

    /// Goes one level deeper, where there is room.
    @inline(__always)
    func descend() {
        state.levels.levels[state.depth].note(scope)
        state.depth &+= 1
    }

    /// Notes the index of the element of a list that is written next, in the level of the list.
    @inline(__always)
    func note(element: Int) { state.levels.levels[state.depth &- 1].element = element }

    /// Writes the key of an entry of a dictionary.
    @inline(__always)
    func writeKey<Key>(_ key: Key, _ index: Int, _ writer: ValueWriter<Key>) throws {
        let start = output.count
        state.levels.levels[state.depth &- 1].note(entry: index, key: -1, deferredDepth: 0)
        try writer.write(key, self)
        state.levels.levels[state.depth &- 1].note(entry: index, key: start, deferredDepth: state.deferredDepth)
    }
}
