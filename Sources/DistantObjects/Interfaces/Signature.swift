import Synchronization

/// One message of an ``Interface``: its result and its arguments, known to both sides and to the compiler.
///
/// `Signature<Int, Person>("add")` takes a `Person` and answers with an `Int`; `Signature<Void>("clear")` takes nothing and
/// answers with nothing. A `Remote` as result or argument is an object by reference.
// Its parameters have no constraints but those of its `init`: the runtime would check them by searches of conformances.
public struct Signature<Result, each Argument>: Sendable {
    @usableFromInline let record: SignatureRecord

    /// A message of that name.
    ///
    /// - Parameters:
    ///   - name: What it is called on the wire.
    ///   - version: The version of the interface that brought it. Peers of earlier versions are used all the same: calling it
    ///     there throws `ConnectionError.notAvailable`, and `isAvailable` tells. `nil`: every peer has to have it.
    ///   - olderTypeNames: Types of the result or the arguments that have another name in peers of earlier versions: their
    ///     name here, and the one there. It helps this side use such peers. They cannot use objects of this side, because
    ///     they do not know the new name.
    public init(_ name: String, since version: Int? = nil, olderTypeNames: [String: String] = [:])
    where repeat each Argument: Codable & SendableMetatype {
        record = SignatureRecord(
            MessageDescription(
                name, TypeDescription.of(each: repeat (each Argument).self), TypeDescription.of(Result.self)),
            version, olderTypeNames)
    }
}

/// A signature without its types.
///
/// A class, so that reading it through a key path counts one reference.
@usableFromInline
final class SignatureRecord: Sendable {
    /// Whether it is a stored property of an interface, which lives as long as the process.
    private let storage = Atomic<Bool>(false)
    let description: MessageDescription
    /// What a peer may lack.
    let version: Int?
    private let olderTypeNames: [String: String]

    init(_ description: MessageDescription, _ version: Int?, _ olderTypeNames: [String: String]) {
        self.description = description
        self.version = version
        self.olderTypeNames = olderTypeNames
    }

    @usableFromInline var name: String { description.name }

    var isStored: Bool { storage.load(ordering: .relaxed) }

    /// Notes that it is a stored property of an interface.
    func markStored() { storage.store(true, ordering: .relaxed) }

    /// Why objects of a class cannot answer the message, if they cannot.
    func obstacle(in other: ClassDescription) -> String? {
        guard let found = other.message(name) else { return "\(description) is missing" }
        let isSame =
            found.arguments.count == description.arguments.count
            && zip(found.arguments + [found.result], description.arguments + [description.result])
                .allSatisfy { $0.fits($1, olderNames: olderTypeNames) }
        return isSame ? nil : "\(description) is \(found) there"
    }
}

/// A signature of any types.
protocol AnySignature {
    var record: SignatureRecord { get }
}

extension Signature: AnySignature {}
