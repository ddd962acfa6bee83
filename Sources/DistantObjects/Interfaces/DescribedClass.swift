import Synchronization

/// A class as its process describes it, and what that means for the interfaces it is used by.
///
/// It is read when it is first asked for: most references are used without.
final class DescribedClass: Sendable {
    private struct Findings {
        var description: Result<ClassDescription, ProtocolViolation>?
        /// What is wrong with each interface that was asked about.
        var problems: [ObjectIdentifier: [String]] = [:]
        /// What is wrong with each signature that was asked about.
        var obstacles: [ObjectIdentifier: String?] = [:]
    }

    let definition: [UInt8]
    private let findings = Mutex(Findings())

    init(definition: [UInt8]) { self.definition = definition }

    /// The description.
    ///
    /// - Throws: If it is damaged.
    var description: ClassDescription {
        get throws(ProtocolViolation) { try findings.withLock { described(&$0) }.get() }
    }

    private func described(_ findings: inout Findings) -> Result<ClassDescription, ProtocolViolation> {
        if let known = findings.description { return known }
        let read: Result<ClassDescription, ProtocolViolation>
        do { read = .success(try ClassDescription(definition: definition)) } catch { read = .failure(error) }
        findings.description = read
        return read
    }

    /// The signatures that objects of the class cannot answer, though they have to; each with what is wrong.
    func problems(with interface: AnyInterfaceShape) -> [String] {
        findings.withLock { findings in
            if let known = findings.problems[ObjectIdentifier(interface)] { return known }
            let problems = interface.signatures.filter { $0.version == nil }.compactMap { obstacle(to: $0, &findings) }
            findings.problems[ObjectIdentifier(interface)] = problems
            return problems
        }
    }

    /// Why objects of the class cannot answer a message, if they cannot.
    func obstacle(to signature: SignatureRecord) -> String? {
        findings.withLock { obstacle(to: signature, &$0) }
    }

    private func obstacle(to signature: SignatureRecord, _ findings: inout Findings) -> String? {
        if let known = findings.obstacles[ObjectIdentifier(signature)] { return known }
        let found: String? =
            switch described(&findings) {
            case .success(let description): signature.obstacle(in: description)
            case .failure(let violation):
                "\(signature.description): the peer's description cannot be read: \(violation.message)"
            }
        findings.obstacles[ObjectIdentifier(signature)] = .some(found)
        return found
    }
}

extension DescribedClass {
    /// Descriptions that peers sent, so that those of one class which come over many connections are one.
    private static let known = Mutex(Known())

    private struct Known {
        struct Entry { weak var found: DescribedClass? }

        var entries: [[UInt8]: Entry] = [:]
        /// When entries of classes that nobody uses any more are looked for.
        var limit = 64
    }

    /// The class of that description.
    static func of(_ definition: UnsafeRawBufferPointer) -> DescribedClass {
        let bytes = Array(definition)
        return known.withLock { known in
            if let found = known.entries[bytes]?.found { return found }
            let made = DescribedClass(definition: bytes)
            if known.entries.count >= known.limit {
                known.entries = known.entries.filter { $0.value.found != nil }
                known.limit = max(64, known.entries.count * 2)
            }
            known.entries[bytes] = Known.Entry(found: made)
            return made
        }
    }
}
