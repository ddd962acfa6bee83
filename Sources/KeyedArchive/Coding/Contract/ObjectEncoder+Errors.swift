// `Encoder` and its containers promise an `EncodingError` for a value that cannot be encoded. A type may catch it, and encode
// something else: a container is then as it was before the failed attempt.

/// How far an encoder was before it wrote a value.
struct EncoderMark {
    fileprivate let output: Int
    fileprivate let objects: Int
    fileprivate let externals: Int
    fileprivate let replaced: Int
    fileprivate let hasFailed: Bool
}

extension ObjectEncoder {
    @inline(__always)
    var mark: EncoderMark {
        EncoderMark(
            output: output.count, objects: tables.objects.count, externals: tables.externals.count,
            replaced: tables.replaced.count, hasFailed: state.failure != nil)
    }

    /// Takes back what was written since the mark.
    @inline(never)
    func takeBack(to mark: EncoderMark) {
        output.count = mark.output
        for number in mark.objects..<tables.objects.count { tables.identity.withdraw(address(tables.objects[number])) }
        for object in tables.replaced[mark.replaced...] { tables.identity.withdraw(address(object)) }
        tables.objects.removeLast(downTo: mark.objects)
        tables.replaced.removeSubrange(mark.replaced...)
        tables.removeExternals(downTo: mark.externals)
        if state.deferredDepth == 0 {
            tables.removeBlobs(behind: mark.output)
            tables.conditionals.removeAll { $0.position >= mark.output }
        }
        // A forbidden use of a container cannot be caught.
        if !mark.hasFailed, state.failure?.code != .misuse { state.failure = nil }
    }

    /// The steps from the value that the archive's user named, or from the object, to the value of a scope.
    ///
    /// - Complexity: Linear in the depth.
    func path(ofScope serial: Int, _ deferred: DetachedPlace?) -> [ArchiveError.Step] {
        CodingPlaces(levels: state.levels.levels, depth: state.depth, active: state.deferred) {
            self.elementStep(of: $0)
        }
        .path(of: serial, deferred)
    }

    private func elementStep(of level: EncoderLevel) -> ArchiveError.Step? {
        if level.element >= 0 { return .index(level.element) }
        guard let entry = level.entry else { return nil }
        guard entry.key >= 0 else { return .index(entry.index) }
        // Each deferred value in use keeps the output around it.
        var base = output.bytes.baseAddress
        var next = state.deferred
        for _ in entry.deferredDepth..<max(state.deferredDepth, entry.deferredDepth) {
            guard let place = next.map({ unsafeDowncast($0.takeUnretainedValue(), to: DeferredValue.self) }) else {
                break
            }
            base = place.out.bytes.baseAddress
            next = place.suspended
        }
        return base.map { ArchiveError.Step(entry: entry.index, key: $0 + entry.key) }
    }

    /// The error for an entry of a dictionary, with its key in front of the path.
    @inline(never)
    func failedEntry(_ error: any Error) -> ArchiveError {
        fail(error, at: elementStep(of: state.levels.levels[state.depth - 1]))
    }

    /// The error as the code of an `Encodable` type gets it from a container that could not encode a value.
    @inline(never)
    func exposed(
        _ error: any Error, _ value: Any, from serial: Int, _ deferred: DetachedPlace?, _ key: (any CodingKey)?
    ) -> any Error {
        guard let error = error as? ArchiveError else { return error }
        let path = path(ofScope: serial, deferred)
        if error.code == .thrownByType, let underlying = error.underlying {
            state.thrown = ThrownError(underlying, path + error.steps)
            return underlying
        }
        var keys: [any CodingKey] = (path + error.steps).map { CodingPathKey($0) }
        if let key, keys.count > path.count, keys[path.count].stringValue == key.stringValue { keys[path.count] = key }
        return EncodingError.invalidValue(
            value,
            EncodingError.Context(codingPath: keys, debugDescription: error.message, underlyingError: error))
    }

    /// The error that the code of a type threw while it wrote the current scope, with the path from there.
    @inline(never)
    func absorbed(_ error: any Error) -> ArchiveError {
        if let error = error as? ArchiveError { return error }
        let path = path(ofScope: scope.serial, nil)
        let context = (error as? EncodingError)?.context
        var result = ArchiveError.wrapping(error, at: nil)
        if let origin = context?.underlyingError as? ArchiveError, origin.message == context?.debugDescription {
            result = origin
        }
        var steps = context?.codingPath.map(CodingPathKey.step)
        if let thrown = state.thrown, thrown.isSame(as: error) { steps = thrown.steps }
        guard let steps, steps.starts(with: path) else { return result }
        return result.at(Array(steps.dropFirst(path.count)))
    }
}
