import KeyedArchive
import Synchronization

/// Puts messages into archives and takes them out: today's `NSPortCoder`.
///
/// One for each connection. Values go by copy; objects by reference are entered into the message's table, and the archive
/// names their place in it. Hooks such as `Vendable.replacementObject(for:)` are given it to ask where a message goes.
public final class PortCoder: Sendable {
    /// The connection; nil once it has ended, until then its channel holds it.
    ///
    /// A weak reference would make every use of the connection slower.
    private let attached = Mutex<OwnerReference?>(nil)
    let settings: CoderSettings
    let errorTypes: [String: any (Error & Codable).Type]
    let exposesErrorText: Bool

    /// For messages to objects of this process.
    static let local = PortCoder(
        CoderSettings.of(ConnectionLimits().archive, ClassRegistry()), errorTypes: [], exposesErrorText: false)

    init(_ settings: CoderSettings, errorTypes: [any (Error & Codable).Type], exposesErrorText: Bool) {
        self.settings = settings
        self.errorTypes = Dictionary(
            errorTypes.map { (String(describing: $0), $0) }, uniquingKeysWith: { first, _ in first })
        self.exposesErrorText = exposesErrorText
    }

    /// What messages of this coder go over; nil once it has ended.
    var owner: AnyObject? { attached.withLock { HeldOwner(object: $0?.object.takeUnretainedValue()) }.object }

    func attach(_ owner: some CoderOwner) {
        let reference = OwnerReference(object: .passUnretained(owner))
        attached.withLock { $0 = reference }
    }

    /// An object of this process as it stands in a message's table of references.
    func vended(_ object: some Vendable) -> AnyObject {
        // The class's table is made here, where user code may run. Writing the message finds it again, where user code may not run.
        ClassMessages.of(object)
        return object
    }

    // MARK: Messages

    func takeMessage() -> OutboundMessage {
        CoderPool.message(for: self)
    }

    /// Takes a message back.
    ///
    /// Runs user code (`deinit` of what it held): never under a lock.
    func recycle(_ message: consuming OutboundMessage) {
        message.reset()
        CoderPool.put(message)
    }

    /// The connection has ended.
    func detach() { attached.withLock { $0 = nil } }

    // MARK: Results

    /// A decoder for a message's body, given back with `recycle`, or dropped.
    func decoder(_ body: ByteSlice, bulk: Int, tables: MessageTables?) throws -> ObjectDecoder {
        if let fault = tables?.fault { throw fault }
        let decoder = CoderPool.decoder(for: self)
        // Only a message in fragments has memory of its own that may be handed out; of others the
        // caller keeps the bytes until the decoder is given back.
        if bulk == 0, tables == nil {
            try decoder.load(bytes: body.bytes)
        } else if bulk == 0, let tables, tables.shapes.isEmpty {
            try decoder.load(bytes: body.bytes, externals: tables.references)
        } else {
            try decoder.load(
                bytes: body.bytes, owner: bulk > 0 ? body.owner : nil, shapes: tables?.shapes ?? [],
                externals: tables?.references ?? [], handsOutSlices: bulk > 0)
        }
        return decoder
    }

    /// Takes a decoder back.
    ///
    /// Runs user code (`deinit` of what it made): never under a lock.
    func recycle(_ decoder: consuming ObjectDecoder) {
        decoder.unload()
        // A class that kept its decoder, which it should not, must never see another message in it.
        guard isKnownUniquelyReferenced(&decoder) else { return }
        CoderPool.put(decoder, settings)
    }

    func result<Result: Codable>(of reply: Reply, from message: @autoclosure () -> String) throws -> Result {
        defer { finish(reply) }
        guard reply.status == .result else { throw error(in: reply, from: message()) }
        do {
            let decoder = try decoder(reply.body, bulk: reply.bulk, tables: reply.tables)
            let result = try decoder.decodeTop(Result.self)
            recycle(consume decoder)
            return result
        } catch {
            throw ConnectionError(
                .wrongResult,
                reply.isWithoutValue
                    ? "the method has no result; a \(Result.self) was asked for"
                    : "the result cannot be read as \(Result.self): \(sentence(for: error))",
                context: message(), underlying: error)
        }
    }

    func completion(of reply: Reply, from message: @autoclosure () -> String) throws {
        defer { finish(reply) }
        guard reply.status == .result else { throw error(in: reply, from: message()) }
        // A result that nobody asked for is not decoded, but it has to be one.
        if reply.isWithoutValue, reply.tables == nil { return }
        do {
            recycle(try decoder(reply.body, bulk: reply.bulk, tables: reply.tables))
        } catch {
            throw ConnectionError(
                .wrongResult, "the result cannot be read: \(sentence(for: error))", context: message(),
                underlying: error)
        }
    }

    private func finish(_ reply: Reply) {
        if reply.bulk > 0 { (owner as? any CoderOwner)?.consumed(bulk: reply.bulk) }
    }
}

private struct OwnerReference: @unchecked Sendable {  // To a connection, which is sendable.
    let object: Unmanaged<AnyObject>
}

/// Held while the lock is: afterwards it may be gone.
private struct HeldOwner: @unchecked Sendable {  // A connection, which is sendable.
    let object: AnyObject?
}

/// What a coder's messages go over.
protocol CoderOwner: AnyObject {
    /// A message that came in fragments was decoded: its room in the window is free again.
    func consumed(bulk bytes: Int)
}
