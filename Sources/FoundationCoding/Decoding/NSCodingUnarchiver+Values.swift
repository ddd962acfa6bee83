import Foundation
import KeyedArchive

extension NSCodingUnarchiver {
    // MARK: Steps and errors

    /// Decodes the value of a key; returns the default if there is none, or after an error.
    func keyed<T>(_ key: String, _ none: T, _ decode: (ArchivedValue) throws -> T) -> T {
        perform(none, [.key(key)]) {
            let frame = frames[frames.count - 1]
            guard frame.allowsKeys else {
                throw ArchiveError(.misuse, "decoded by key in a sequential archive")
            }
            guard let value = frame.value(forKey: key) else { return none }
            return try decode(value)
        }
    }

    /// Decodes the next value in order.
    func next<T>(_ type: String, _ none: T, _ decode: (ArchivedValue) throws -> T) -> T {
        perform(none, [.key("$\(frames[frames.count - 1].position)")]) { try decode(try nextValue(type)) }
    }

    /// The next value in order, which must have been encoded with this type.
    func nextValue(_ type: String) throws -> ArchivedValue {
        let frame = frames[frames.count - 1]
        guard let value = frame.value(forStoredKey: "$\(frame.position)") else {
            throw ArchiveError(.missingKey, "decoded in order beyond what was encoded in order")
        }
        if let types = frame.types {
            guard frame.position < types.count, types[frame.position] == type else {
                let found = frame.position < types.count ? String(types[frame.position]) : "nothing"
                throw ArchiveError(.typeMismatch, "expected type “\(type)” next, found “\(found)”")
            }
        } else if isSequential, !frame.allowsKeys {
            throw ArchiveError(.corrupt, "an object of a sequential archive without types")
        }
        frames[frames.count - 1].position += 1
        return value
    }

    func perform<T>(_ none: T, _ steps: [ArchiveError.Step], _ decode: () throws -> T) -> T {
        guard failure == nil else { return none }
        do {
            here = steps
            if isFinished { throw ArchiveError(.misuse, "decoded after decoding was finished") }
            let result = try decode()
            return failure == nil ? result : none
        } catch {
            fail(error, steps)
            return none
        }
    }

    func fail(_ error: any Error, _ steps: [ArchiveError.Step] = []) {
        guard failure == nil else { return }
        var failure =
            (error as? ArchiveError)
            ?? ArchiveError(.thrownByType, "the class's own code threw: \(type(of: error))", underlying: error)
        for step in steps.reversed() { failure.prepend(step) }
        for frame in frames.reversed() {
            for step in frame.steps.reversed() { failure.prepend(step) }
        }
        self.failure = failure
    }

    // MARK: Plain values

    /// The plain value of an object or a shared list; other values unchanged.
    func resolved(_ value: ArchivedValue) -> ArchivedValue {
        switch value {
        case .reference(let index) where graph.objects.indices.contains(index):
            graph.objects[index].plainValue.map(unshared) ?? value
        default: unshared(value)
        }
    }

    private func unshared(_ value: ArchivedValue) -> ArchivedValue {
        guard case .shared(let index) = value, graph.sharedValues.indices.contains(index) else { return value }
        return graph.sharedValues[index]
    }

    /// A number, inline or as an object; nil for nil.
    func number(_ value: ArchivedValue) throws -> ArchivedValue? {
        let value = resolved(value)
        if case .null = value { return nil }
        if case .reference(let index) = value, graph.objects.indices.contains(index),
            let record = graph.objects[index].record, let plain = NativeDecoding.plainNumber(record)
        {
            return plain
        }
        return value
    }

    func data(_ value: ArchivedValue) throws -> Data? {
        switch resolved(value) {
        case .null: return nil
        case .data(let data): return data
        case .reference(let index):
            guard let record = graph.objects[index].record,
                case .data(let data)? = record.first(of: StoredForm.data).map(resolved)
            else { throw ArchiveError(.typeMismatch, "expected bytes, found an object") }
            return data
        case let other: throw ArchiveError(.typeMismatch, "expected bytes, found \(Scalar.kind(other))")
        }
    }

    func bytes(forKey key: String) -> Data? { keyed(key, nil) { try self.data($0) } }
}
