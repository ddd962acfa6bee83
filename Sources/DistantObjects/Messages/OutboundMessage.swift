import KeyedArchive
import PortTransport

/// A message on its way out: the encoded arguments or result, and what its header needs.
///
/// Owned by one thread at a time: the caller until it is written, then the connection, then the coder's pool.
@usableFromInline
final class OutboundMessage: @unchecked Sendable {
    // One owner at a time: no two accesses overlap.
    let encoder: ObjectEncoder
    @exclusivity(unchecked) var argumentCount = 0
    /// The object it goes to.
    ///
    /// The caller holds the proxy until the message is written or withdrawn.
    @exclusivity(unchecked) var target = ObjectID.rootDirectory
    @exclusivity(unchecked) var name = ""
    @exclusivity(unchecked) var deadline: Deadline?

    /// What the encoder is configured for.
    @exclusivity(unchecked) private(set) var settings: CoderSettings

    /// - Parameter owner: The coder, which what is encoded asks where it goes.
    init(_ settings: CoderSettings, owner: AnyObject) {
        self.settings = settings
        encoder = ObjectEncoder(limits: settings.limits, classes: settings.classes)
        encoder.codingOwner = owner
        encoder.allowsExternals = true
    }

    /// Whether it is one of that coder's, and needs no `adapt`.
    func isDriven(by owner: AnyObject) -> Bool { encoder.isDriven(by: owner) }

    /// Makes a message that was used before one of that coder's; false if it was made for other classes.
    @inline(never)
    func adapt(to settings: CoderSettings, owner: AnyObject) -> Bool {
        guard settings.fits(self.settings) else { return false }
        encoder.codingOwner = owner
        guard settings !== self.settings else { return true }
        self.settings = settings
        encoder.configure(limits: settings.limits)
        return true
    }

    @usableFromInline
    func encode<Argument: Encodable>(_ argument: Argument) throws {
        try encoder.encodeTop(argument)
        argumentCount += 1
    }

    /// Completes the archive.
    func finish() throws { try encoder.finish() }

    /// Whether the message has to be measured against what the peer takes.
    ///
    /// Without tables and this small it fits anywhere.
    var mayBeTooLarge: Bool {
        encoder.byteCount > 4_096 || encoder.hasTables || name.utf8.count > 256
    }

    /// Whether it may go out in fragments, and so counts against the bound of large messages.
    ///
    /// Tables, which may take much of a frame, are measured only when it is written.
    var isLarge: Bool {
        let count = encoder.byteCount
        return count > 8_192 && (count > 57_344 || encoder.hasTables)
    }

    /// Releases everything the message held.
    ///
    /// Runs user code (`deinit`): never under a lock.
    func reset() {
        encoder.reset()
        argumentCount = 0
        // Answers have no name, and are measured with it: a long one must not stay for them.
        name = ""
        deadline = nil
    }
}
