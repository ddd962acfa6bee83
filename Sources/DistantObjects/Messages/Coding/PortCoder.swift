import KeyedArchive
public import PortTransport
import Synchronization

/// Encodes and decodes the messages of one connection, as `NSPortCoder` does in Foundation.
///
/// Values go by copy. Objects by reference are entered into the message's table of references, and the archive holds their
/// index in it. `Vendable.replacementObject(for:)` gets the coder, and can ask it who will read the message.
public final class PortCoder: Sendable {
    /// The connection; nil once it has ended.
    ///
    /// Until then its channel keeps it alive.
    ///
    /// A weak reference here would make every use of the connection slower.
    private let attached = Mutex<OwnerReference?>(nil)
    let settings: CoderSettings
    /// Counts what views keep, from the first view on.
    private let kept = AtomicLazyReference<KeptMessages>()
    /// From the first call of an interface on that lists errors.
    private let interfaceErrors = AtomicLazyReference<KnownErrors>()

    init(_ settings: CoderSettings) { self.settings = settings }

    /// The connection of this coder; nil once it has ended.
    var owner: AnyObject? { attached.withLock { HeldOwner(object: $0?.object.takeUnretainedValue()) }.object }

    /// The credentials of the process that gets the message, as the kernel reports them; nil over pipes, and once the
    /// connection has ended.
    public var peer: PeerCredentials? { (owner as? any CoderOwner)?.peer }

    func attach(_ owner: some CoderOwner) {
        let reference = OwnerReference(object: .passUnretained(owner))
        attached.withLock { $0 = reference }
    }

    /// Prepares an object of this process for a message's table of references.
    ///
    /// - Throws: `ConnectionError.interfaceMismatch` if its class lacks messages of the interface that it says it implements,
    ///   `.notEncodable` if its table lists those of another class.
    func vended(_ object: some Vendable) throws(ConnectionError) -> AnyObject {
        // Makes the class's table now, because user code may run here. It may not run later, when the message is written.
        let (mismatch, errors) = ClassMessages.of(object)._withUnsafeGuaranteedRef { ($0.mismatch, $0.errors) }
        if let mismatch { throw mismatch }
        // Streams among the arguments of its messages may fail with them.
        if let errors { learn(errors) }
        return object
    }

    /// Decodes the errors of an interface from now on.
    func learn(_ errors: InterfaceErrors) {
        (interfaceErrors.load() ?? interfaceErrors.storeIfNil(KnownErrors())).add(errors)
    }

    /// The type of an error that the peer throws; nil for a `RemoteError`.
    ///
    /// - Parameter signature: That of the call that it answers, if that is known: its interface goes first.
    /// - Throws: `KnownErrors.AmbiguousError`.
    func errorType(
        named name: String, as signature: SignatureRecord?
    ) throws(KnownErrors.AmbiguousError) -> (any (Error & Codable).Type)? {
        if let type = signature?.errors?.type(named: name) ?? settings.errorTypes[name] { return type }
        return try interfaceErrors.load()?.type(named: name)
    }

    // MARK: Messages

    func takeMessage() -> OutboundMessage {
        CoderPool.message(for: self)
    }

    /// Returns a message to the pool.
    ///
    /// May run user code (`deinit` of what the message held), so call it without a lock.
    func recycle(_ message: consuming OutboundMessage) {
        message.reset()
        CoderPool.put(message)
    }

    /// The connection has ended.
    func detach() { attached.withLock { $0 = nil } }

    // MARK: Results

    /// A decoder for a message's body.
    ///
    /// The caller returns it with `recycle`, or drops it.
    func decoder(_ body: ByteSlice, largeBytes: Int, tables: MessageTables?) throws -> ObjectDecoder {
        if largeBytes == 0, tables == nil { return try decoder(body.bytes) }
        if let fault = tables?.fault { throw fault }
        let shapes = try tables?.shapes.read() ?? []
        let decoder = CoderPool.decoder(for: self)
        // Only a message in fragments has its own memory, which decoded values may share. For others the caller keeps the
        // bytes until the decoder is returned.
        if largeBytes == 0, let tables, shapes.isEmpty {
            try decoder.load(bytes: body.bytes, externals: tables.references)
        } else {
            try decoder.load(
                bytes: body.bytes, owner: largeBytes > 0 ? body.owner : nil, shapes: shapes,
                externals: tables?.references ?? [], handsOutSlices: largeBytes > 0)
        }
        return decoder
    }

    /// A decoder for a message's body that came whole and without tables.
    ///
    /// The caller keeps the bytes meanwhile.
    func decoder(_ bytes: UnsafeRawBufferPointer) throws -> ObjectDecoder {
        let decoder = CoderPool.decoder(for: self)
        try decoder.load(bytes: bytes)
        return decoder
    }

    /// Returns a decoder to the pool.
    ///
    /// May run user code (`deinit` of what it decoded), so call it without a lock.
    func recycle(_ decoder: consuming ObjectDecoder) {
        decoder.unload()
        // A class may have kept its decoder, which it should not. It must not see another message in it.
        guard isKnownUniquelyReferenced(&decoder) else { return }
        CoderPool.put(decoder, settings)
    }

    func result<Result: Codable>(
        of reply: Reply, from message: @autoclosure () -> String, as signature: SignatureRecord?
    ) throws -> Result {
        defer { finish(reply) }
        guard reply.status == .result else { throw error(in: reply, from: message(), as: signature) }
        do {
            let decoder = try decoder(reply.body, largeBytes: reply.largeBytes, tables: reply.tables)
            let result = try decoder.decodeTop(Result.self)
            recycle(consume decoder)
            return result
        } catch {
            if let overload = Self.overload(in: error) {
                throw ConnectionError(.overloaded, overload.message, context: message(), mayHaveRun: true)
            }
            throw ConnectionError(
                .wrongResult,
                reply.isWithoutValue
                    ? "the method has no result; a \(Result.self) was asked for"
                    : "the result cannot be read as \(Result.self): \(sentence(for: error))",
                context: message(), underlying: error)
        }
    }

    func completion(
        of reply: Reply, from message: @autoclosure () -> String, as signature: SignatureRecord?
    ) throws {
        defer { finish(reply) }
        guard reply.status == .result else { throw error(in: reply, from: message(), as: signature) }
        // A result that the caller does not ask for is not decoded, but it has to be well-formed.
        if reply.isWithoutValue, reply.tables == nil { return }
        do {
            recycle(try decoder(reply.body, largeBytes: reply.largeBytes, tables: reply.tables))
        } catch {
            throw ConnectionError(
                .wrongResult, "the result cannot be read: \(sentence(for: error))", context: message(),
                underlying: error)
        }
    }

    /// The error if views keep too much memory.
    static func overload(in error: any Error) -> ConnectionError? {
        let cause = (error as? ArchiveError)?.underlying ?? error
        guard let own = cause as? ConnectionError, own.code == .overloaded else {
            return nil
        }
        return own
    }

    private func finish(_ reply: Reply) {
        if reply.largeBytes > 0 { (owner as? any CoderOwner)?.consumed(largeBytes: reply.largeBytes) }
    }
}

extension PortCoder: MessageKeeper {
    package func keep(bytes count: Int) throws -> AnyObject {
        try (kept.load() ?? kept.storeIfNil(KeptMessages(limit: settings.viewedBytes))).keep(count)
    }
}

private struct OwnerReference: @unchecked Sendable {  // Refers to a connection, which is sendable.
    let object: Unmanaged<AnyObject>
}

/// A strong reference, taken under the lock because the connection may be freed afterwards.
private struct HeldOwner: @unchecked Sendable {  // Refers to a connection, which is sendable.
    let object: AnyObject?
}

/// The connection of a coder.
protocol CoderOwner: AnyObject {
    /// The credentials of the peer.
    var peer: PeerCredentials? { get }

    /// Called when a message that came in fragments is decoded: its bytes no longer count towards the window.
    func consumed(largeBytes bytes: Int)
}
