import Synchronization

/// A class as described by the process of its objects, and the interfaces that its objects can be used by.
///
/// The description is read for each question, and only the answers are kept. A parsed description would take many times
/// the memory of its bytes, whose number a peer chooses.
final class DescribedClass: Sendable {
    private struct Findings {
        /// The problems with each interface that was asked about.
        var problems: [ObjectIdentifier: [String]] = [:]
        /// The obstacle to each signature that was asked about.
        var obstacles: [ObjectIdentifier: String?] = [:]
    }

    let definition: [UInt8]
    private let findings = Mutex(Findings())

    init(definition: [UInt8]) { self.definition = definition }

    /// The description.
    ///
    /// - Throws: If it is damaged.
    var description: ClassDescription {
        get throws(ProtocolViolation) { try ClassDescription(definition: definition) }
    }

    /// Returns the signatures that the objects cannot answer although they have to, each with the reason.
    ///
    /// A description that cannot be read has none, as if the class were not described.
    func problems(with interface: AnyInterfaceShape) -> [String] {
        let key = ObjectIdentifier(interface)
        if let known = findings.withLock({ $0.problems[key] }) { return known }
        let description = try? description
        let missing = interface.signatures.filter { $0.version == nil }.compactMap { signature in
            description.flatMap { signature.obstacle(in: $0) }
        }
        let problems = interface.faults + missing
        findings.withLock { $0.problems[key] = problems }
        return problems
    }

    /// Returns why the objects cannot answer a message, if they cannot.
    func obstacle(to signature: SignatureRecord) -> String? {
        // Only stored signatures live as long as the process. The address of another signature may be used again by a
        // later one.
        guard signature.isStored else { return (try? description).flatMap { signature.obstacle(in: $0) } }
        let key = ObjectIdentifier(signature)
        if let known = findings.withLock({ $0.obstacles[key] }) { return known }
        let found = (try? description).flatMap { signature.obstacle(in: $0) }
        findings.withLock { $0.obstacles[key] = .some(found) }
        return found
    }
}

extension DescribedClass {
    /// The descriptions that peers have sent, so that connections to programs of one kind share them.
    private static let known = Mutex(Known())

    private struct Known {
        struct Entry { weak var found: DescribedClass? }

        /// By a hash of the description, so that the entry of a freed class keeps none of the peer's bytes.
        var entries: [Int: Entry] = [:]
        /// The number of entries at which those of freed classes are removed.
        var limit = 64
    }

    /// Returns the class of a description.
    static func of(_ definition: UnsafeRawBufferPointer) -> DescribedClass {
        let bytes = Array(definition)
        let hash = bytes.hashValue
        return known.withLock { known in
            if let found = known.entries[hash]?.found, found.definition == bytes { return found }
            let made = DescribedClass(definition: bytes)
            if known.entries.count >= known.limit {
                known.entries = known.entries.filter { $0.value.found != nil }
                known.limit = max(64, known.entries.count * 2)
            }
            known.entries[hash] = Known.Entry(found: made)
            return made
        }
    }
}
