extension ObjectDecoder {
    /// The error as the code of a `Decodable` type gets it from a container.
    @inline(never)
    func exposed(
        _ error: any Error, from serial: Int, _ detached: DetachedPlace?, _ key: (any CodingKey)?
    ) -> any Error {
        guard let error = error as? ArchiveError else { return error }
        let path = path(ofFrame: serial, detached)
        let exposed = error.decodingError(in: path, key)
        if error.code == .thrownByType { notes.thrown = ThrownError(exposed, path + error.steps) }
        return exposed
    }

    /// The error that the code of a type threw while it read the current frame, with the path from there.
    @inline(never)
    func absorbed(_ error: any Error) -> ArchiveError {
        if let error = error as? ArchiveError { return error }
        let path = path(ofFrame: frame.serial, nil)
        let result = (error as? DecodingError)?.origin ?? ArchiveError.wrapping(error, at: nil)
        var steps = (error as? DecodingError)?.steps
        if let thrown = notes.thrown, thrown.isSame(as: error) { steps = thrown.steps }
        // An error with another path was made for something else, such as by a decoder inside of this one.
        guard let steps, steps.starts(with: path) else { return result }
        return result.at(Array(steps.dropFirst(path.count)))
    }

    /// What an ``OpenEnum`` has for the current frame's value, whose case it does not know; nil for other errors and types.
    ///
    /// - Parameter error: What the type's `init(from:)` threw.
    @inline(never)
    func unknownCase<T>(_ type: T.Type, _ error: any Error) -> T? {
        guard let error = error as? DecodingError, error.isOfWholeValue(at: path(ofFrame: frame.serial, nil)),
            // A value with other than one key is no case of an enum.
            frame.layout != .keyed || frame.storedKeys.count == 1,
            let open = type as? any OpenEnum.Type
        else { return nil }
        return open.unknown as? T
    }
}

extension DecodingError {
    /// Whether the type's own code threw it, about the value as a whole: as an enum does that finds no case.
    fileprivate func isOfWholeValue(at path: [ArchiveError.Step]) -> Bool {
        switch self {
        case .dataCorrupted, .typeMismatch: context.underlyingError == nil && steps == path
        default: false
        }
    }
}
