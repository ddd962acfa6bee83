// `Decoder` and its containers promise a `DecodingError` for what is wrong with the content, and types rely on that: they catch
// one kind and try something else. Between the code of two types an error is an `ArchiveError`, which collects its path.

extension ArchiveError {
    /// The error as the code of a `Decodable` type gets it.
    ///
    /// - Parameters:
    ///   - path: The path to the container that throws; the error's own path leads on from there.
    ///   - key: The key that the container was asked for.
    func decodingError(in path: [Step], _ key: (any CodingKey)?) -> any Error {
        if code == .thrownByType, let underlying { return underlying }
        var keys: [any CodingKey] = steps.map { CodingPathKey($0) }
        // The type's own key, which it may want to compare.
        if let key, keys.first?.stringValue == key.stringValue { keys[0] = key }
        let around = path.map { CodingPathKey($0) as any CodingKey }
        func context(_ keys: some Sequence<any CodingKey>) -> DecodingError.Context {
            DecodingError.Context(codingPath: around + keys, debugDescription: message, underlyingError: self)
        }
        if code == .missingKey, !isAbsent, let last = keys.last {
            return DecodingError.keyNotFound(last, context(keys.dropLast()))
        }
        guard let expected else { return DecodingError.dataCorrupted(context(keys)) }
        return isAbsent
            ? DecodingError.valueNotFound(expected, context(keys)) : DecodingError.typeMismatch(expected, context(keys))
    }
}

extension DecodingError {
    /// The steps to the place, with a key that is missing there.
    var steps: [ArchiveError.Step] {
        let steps = context.codingPath.map(CodingPathKey.step)
        guard case .keyNotFound(let key, _) = self else { return steps }
        return steps + [.key(key.stringValue)]
    }

    /// The error of this library that it was made from; nil for an error that the type's code made.
    var origin: ArchiveError? {
        guard let origin = context.underlyingError as? ArchiveError, origin.message == context.debugDescription else {
            return nil
        }
        return origin
    }
}
