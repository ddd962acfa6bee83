import KeyedArchive
import Synchronization

/// An interface without its type: its name and its signatures, those of its bases included.
///
/// One for each interface that a process uses; it lives as long as the process.
@usableFromInline
class AnyInterfaceShape: @unchecked Sendable {  // Immutable after `init`.
    let name: String
    let signatures: [SignatureRecord]
    /// The faults of the interface itself: names on the wire that two signatures share, or a base that is the interface itself.
    let faults: [String]
    @usableFromInline let baseShape: AnyInterfaceShape?
    /// Nil if the interface and its bases list none.
    let errors: InterfaceErrors?

    fileprivate static let all = Mutex<[ObjectIdentifier: AnyInterfaceShape]>([:])

    /// - Parameter isCircle: Whether the interface extends itself, directly or through others.
    fileprivate init(
        _ name: String, _ own: [SignatureRecord], _ ownErrors: [any (Error & Codable).Type], _ base: AnyInterfaceShape?,
        isCircle: Bool
    ) {
        self.name = name
        baseShape = base
        signatures = own + (base?.signatures ?? [])
        errors = ownErrors.isEmpty ? base?.errors : InterfaceErrors(ownErrors + (base?.errors?.types ?? []))
        for signature in own { signature.markStored(errors) }
        var names: [String] = []
        for (index, signature) in signatures.enumerated()
        where signatures[..<index].contains(where: { $0.name == signature.name }) && !names.contains(signature.name) {
            names.append(signature.name)
        }
        names.sort()
        faults = names.map { "the interface has “\($0)” twice" } + (isCircle ? ["the interface extends itself"] : [])
    }

    /// The error for an object that does not answer what the interface asks, which its sentence names.
    func mismatch(_ problems: [String], _ className: String) -> ConnectionError {
        ConnectionError(
            .interfaceMismatch, "\(className) does not answer what \(name) asks: \(problems.joined(separator: "; "))")
    }
}

/// The one instance of an interface.
@usableFromInline
final class InterfaceShape<I: Interface>: AnyInterfaceShape, @unchecked Sendable {  // Immutable after `init`.
    /// Never freed, so that a signature can be read in place, without a copy of the instance.
    @usableFromInline let instance: UnsafePointer<I>

    private init() {
        let made = UnsafeMutablePointer<I>.allocate(capacity: 1)
        UnsafeMutableRawPointer(made).initializeMemory(as: UInt8.self, repeating: 0, count: MemoryLayout<I>.size)
        // User code.
        made.initialize(to: I())
        instance = UnsafePointer(made)
        let own = SignatureRecord.stored(in: UnsafeRawBufferPointer(start: made, count: MemoryLayout<I>.size))
        let extending = I.self as? any Extending.Type
        let isCircle = extending.map { extends(baseType(of: $0), I.self) } ?? false
        super.init(
            typeName(I.self), own, I.errors, isCircle ? nil : extending.map { shape(ofBaseOf: $0) }, isCircle: isCircle)
    }

    /// The interface's instance, made when it is first asked for.
    @usableFromInline
    static func of(_ type: I.Type) -> InterfaceShape<I> {
        let key = ObjectIdentifier(type)
        if let known = all.withLock({ $0[key] }) { return unsafeDowncast(known, to: InterfaceShape<I>.self) }
        // Made without the lock, because this runs user code. Two threads may both make one; the first that is stored
        // is kept.
        let made = InterfaceShape()
        return all.withLock { shapes in
            if let known = shapes[key] { return unsafeDowncast(known, to: InterfaceShape<I>.self) }
            shapes[key] = made
            return made
        }
    }

    /// The record of a message's signature.
    ///
    /// Inlined, so that the compiler turns a literal key path into a direct access.
    @inlinable
    @inline(__always)
    func record<Result, each Argument>(
        _ path: KeyPath<I, Signature<Result, repeat each Argument>>
    ) -> SignatureRecord {
        instance.pointee[keyPath: path].record
    }
}

extension InterfaceShape where I: Extending {
    /// The shape of the interface that this one extends.
    @inlinable var base: InterfaceShape<I.Base> {
        // It has none only if the interface extends itself.
        guard let baseShape else { return InterfaceShape<I.Base>.of(I.Base.self) }
        return unsafeDowncast(baseShape, to: InterfaceShape<I.Base>.self)
    }
}

private func shape<Extended: Extending>(ofBaseOf type: Extended.Type) -> AnyInterfaceShape {
    InterfaceShape<Extended.Base>.of(Extended.Base.self)
}

/// Whether an interface extends another one, or is it.
private func extends(_ type: Any.Type, _ other: Any.Type) -> Bool {
    var next: Any.Type? = type
    var passed = 0
    // The limit also ends the search in a circle that does not contain `other`.
    while let current = next, passed < 100 {
        if current == other { return true }
        next = (current as? any Extending.Type).map { baseType(of: $0) }
        passed += 1
    }
    return passed == 100
}

private func baseType<Extended: Extending>(of type: Extended.Type) -> Any.Type { Extended.Base.self }
