import Synchronization

/// One message of an ``Interface``: its result and its arguments, known to both sides and to the compiler.
///
/// `Signature<Int, Person>("add")` takes a `Person` and answers with an `Int`; `Signature<Void>("clear")` takes nothing and
/// answers with nothing. A `Remote` as result or argument is an object by reference.
public struct Signature<Result, each Argument>: Sendable {
    // Only `init` has constraints. The runtime would check those of the type by searches of conformances.
    @usableFromInline let record: SignatureRecord

    /// A message of that name.
    ///
    /// - Parameters:
    ///   - name: What it is called on the wire.
    ///   - version: The version of the interface that brought it. Peers of earlier versions are used all the same: calling it
    ///     there throws `ConnectionError.notAvailable`, and `isAvailable` tells. `nil`: every peer has to have it.
    ///   - idempotent: Whether it does no harm to run it twice. Then a call through the remote of a ``Helper`` that may have run
    ///     when the helper died is sent once more.
    ///   - olderTypeNames: Types of the result or the arguments that have another name in peers of earlier versions: their
    ///     name here, and the one there. It helps this side use such peers. They cannot use objects of this side, because
    ///     they do not know the new name.
    public init(
        _ name: String, since version: Int? = nil, idempotent: Bool = false, olderTypeNames: [String: String] = [:]
    )
    where Result: Codable & SendableMetatype, repeat each Argument: Codable & SendableMetatype {
        record = SignatureRecord(
            MessageDescription(
                name, TypeDescription.of(each: repeat (each Argument).self), TypeDescription.of(Result.self)),
            version, isIdempotent: idempotent, olderTypeNames)
    }

    /// A message of that name, without a result.
    ///
    /// - Parameters:
    ///   - name: What it is called on the wire.
    ///   - version: The version of the interface that brought it; `nil`: every peer has to have it.
    ///   - idempotent: Whether it does no harm to run it twice.
    ///   - olderTypeNames: Types of the arguments that have another name in peers of earlier versions.
    public init(
        _ name: String, since version: Int? = nil, idempotent: Bool = false, olderTypeNames: [String: String] = [:]
    )
    where Result == Void, repeat each Argument: Codable & SendableMetatype {
        record = SignatureRecord(
            MessageDescription(name, TypeDescription.of(each: repeat (each Argument).self), .nothing), version,
            isIdempotent: idempotent, olderTypeNames)
    }

    /// Not for use: the compiler answers it with what a result has to be.
    @available(
        *, unavailable,
        message: "the result has to be Codable, a Remote, a DistantStream, or Void; instead of a tuple, a structure"
    )
    @_disfavoredOverload
    public init(
        _ name: String, since version: Int? = nil, idempotent: Bool = false, olderTypeNames: [String: String] = [:]
    )
    where repeat each Argument: Codable & SendableMetatype {
        fatalError("the compiler refuses each use")
    }
}

/// A signature without its types.
///
/// A class, so that reading it through a key path counts one reference.
@usableFromInline
final class SignatureRecord: Sendable {
    /// Whether it is a stored property of an interface, which lives as long as the process.
    private let storage = Atomic<Bool>(false)
    private let listedErrors = AtomicLazyReference<InterfaceErrors>()
    let description: MessageDescription
    /// What a peer may lack.
    let version: Int?
    /// Whether the caller sends it once more if it may have run.
    @usableFromInline let isIdempotent: Bool
    private let olderTypeNames: [String: String]

    init(
        _ description: MessageDescription, _ version: Int?, isIdempotent: Bool, _ olderTypeNames: [String: String]
    ) {
        self.description = description
        self.version = version
        self.isIdempotent = isIdempotent
        self.olderTypeNames = olderTypeNames
        Self.living.withLock { $0.append(ObjectIdentifier(self)) }
    }

    @usableFromInline var name: String { description.name }

    deinit {
        let address = ObjectIdentifier(self)
        Self.living.withLock { living in
            if let index = living.lastIndex(of: address) { living.remove(at: index) }
        }
    }

    /// The signatures that exist.
    private static let living = Mutex<[ObjectIdentifier]>([])

    /// The signatures that are stored in a value, in the order of its properties.
    ///
    /// In memory, a signature is one reference. A `Mirror` finds them, too, but its first use takes a tenth of the time that a
    /// small program needs to start.
    ///
    /// - Parameter memory: The value, in memory that was zero before.
    static func stored(in memory: UnsafeRawBufferPointer) -> [SignatureRecord] {
        living.withLock { living in
            var found: [SignatureRecord] = []
            for offset in stride(from: 0, to: memory.count & -8, by: 8) {
                let word = memory.load(fromByteOffset: offset, as: UInt.self)
                guard let address = UnsafeRawPointer(bitPattern: word),
                    living.contains(where: { UInt(bitPattern: $0) == word })
                else { continue }
                found.append(Unmanaged<SignatureRecord>.fromOpaque(address).takeUnretainedValue())
            }
            return found
        }
    }

    var isStored: Bool { storage.load(ordering: .relaxed) }

    /// The errors that its interface lists.
    var errors: InterfaceErrors? { listedErrors.load() }

    /// Notes that it is a stored property of an interface, which lists errors.
    func markStored(_ errors: InterfaceErrors?) {
        if let errors { _ = listedErrors.storeIfNil(errors) }
        storage.store(true, ordering: .relaxed)
    }

    /// Why objects of a class cannot answer the message, if they cannot: that it is missing, or the parts that differ.
    func obstacle(in other: ClassDescription) -> String? {
        guard let found = other.message(name) else { return "\(description) is missing" }
        var differences: [String] = []
        let (asked, there) = (description.arguments, found.arguments)
        if asked.count == there.count {
            for (index, pair) in zip(asked, there).enumerated() where !fits(pair.1, pair.0) {
                differences.append("argument \(index + 1) \(pair.0) is \(pair.1) there")
            }
        } else {
            differences.append("the arguments \(list(asked)) are \(list(there)) there")
        }
        if !fits(found.result, description.result) {
            differences.append("result \(description.result) is \(found.result) there")
        }
        return differences.isEmpty ? nil : "\(name): \(differences.joined(separator: ", "))"
    }

    private func fits(_ found: TypeDescription, _ asked: TypeDescription) -> Bool {
        found.fits(asked, olderNames: olderTypeNames)
    }

    private func list(_ types: [TypeDescription]) -> String {
        "(\(types.map(\.description).joined(separator: ", ")))"
    }
}
