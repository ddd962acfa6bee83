import KeyedArchive
import PortTransport

/// A message to send: the encoded arguments or result, and the fields of its header.
///
/// It has one owner at a time: the caller until it is written, then the connection, then the coder's pool.
@usableFromInline
final class OutboundMessage: @unchecked Sendable {
    // With one owner at a time, no two accesses overlap.
    let encoder: ObjectEncoder
    @exclusivity(unchecked) var argumentCount = 0
    /// Whether all arguments are encoded.
    @exclusivity(unchecked) private var isFinishing = false
    /// The object it is sent to.
    ///
    /// The caller holds the proxy until the message is written or withdrawn. The caller of a promise does not wait for that,
    /// so the message holds it.
    @exclusivity(unchecked) var target = ObjectID.rootDirectory
    /// The answer it is sent to, instead of an object.
    @exclusivity(unchecked) private(set) var answer: Ticket?
    /// The proxy for its target, which must not die before the message is written.
    @exclusivity(unchecked) private var proxy: AnyObject?
    @exclusivity(unchecked) var role = Role.plain
    /// Whether it is sent while a call of its receiver is served; set only if it has to wait for credit or room.
    @exclusivity(unchecked) var isNested = false
    @exclusivity(unchecked) var name = ""
    @exclusivity(unchecked) var deadline: Deadline?
    /// The encoded metadata; `nil` if there is none.
    @exclusivity(unchecked) var metadata: [UInt8]?

    /// The settings that the encoder is configured for.
    @exclusivity(unchecked) private(set) var settings: CoderSettings

    /// - Parameter owner: The coder, which encoded objects get as their `codingOwner`.
    init(_ settings: CoderSettings, owner: AnyObject) {
        self.settings = settings
        encoder = ObjectEncoder(limits: settings.limits, classes: settings.classes)
        encoder.codingOwner = owner
        encoder.allowsExternals = true
    }

    /// Whether the message already belongs to that coder and needs no `adapt`.
    func isDriven(by owner: AnyObject) -> Bool { encoder.isDriven(by: owner) }

    /// Configures a used message for a coder.
    ///
    /// Returns false if it was made for other classes.
    @inline(never)
    func adapt(to settings: CoderSettings, owner: AnyObject) -> Bool {
        guard settings.fits(self.settings) else { return false }
        encoder.codingOwner = owner
        guard settings !== self.settings else { return true }
        self.settings = settings
        encoder.configure(limits: settings.limits)
        return true
    }

    /// Encodes the arguments and completes the archive.
    ///
    /// It is inlined into the caller's module, where their types are known.
    @inlinable
    @inline(__always)
    func encode<each Argument: Encodable>(arguments argument: repeat each Argument) throws {
        repeat try encode(each argument)
        try finish()
    }

    @usableFromInline
    func encode<Argument: Encodable>(_ argument: Argument) throws {
        try encoder.encodeTop(argument)
        argumentCount += 1
    }

    /// What distinguishes a call from others when it is sent.
    enum Role: UInt8 {
        case plain
        /// Its answer is wanted only as the target or an argument of later messages.
        case promise
        /// The peer's own call, which is sent back to it.
        case passedOn
    }

    /// Whether its answer is wanted only as the target or an argument of later messages.
    var isPromise: Bool { role == .promise }

    /// Whether it is sent without credit if there is none, unless it is a one-way message.
    var mayBorrow: Bool { isNested || role == .passedOn }

    /// Completes the archive.
    @usableFromInline
    func finish() throws {
        isFinishing = true
        try encoder.finish()
    }

    /// The argument that is being encoded, counted from one; nil behind the last.
    var position: Int? { isFinishing ? nil : argumentCount + 1 }

    /// Whether the message's size has to be checked against the peer's limits.
    ///
    /// A smaller message without tables is within every limit.
    var mayBeTooLarge: Bool {
        encoder.byteCount > 4_096 || encoder.hasTables || name.utf8.count > 256
    }

    /// Whether the message may be sent in fragments, and so counts towards the limit of large messages.
    ///
    /// The size of its tables, which may be most of a frame, is known only when the message is written.
    var isLarge: Bool {
        let count = encoder.byteCount
        return count > 8_192 && (count > 57_344 || encoder.hasTables || metadata != nil)
    }

    /// Sends the message to the answer of another call.
    ///
    /// - Parameter proxy: Kept until the message is written.
    func send(to answer: Ticket, through proxy: AnyObject) {
        self.answer = answer
        hold(proxy)
    }

    /// Keeps the proxy that the message is sent through until the message is written.
    func hold(_ proxy: AnyObject) { self.proxy = proxy }

    /// Releases everything the message holds.
    ///
    /// May run user code (`deinit`), so call it without a lock.
    func reset() {
        encoder.reset()
        argumentCount = 0
        isFinishing = false
        // Answers have no name but are measured with it: a long one left over would count.
        name = ""
        deadline = nil
        if metadata != nil { metadata = nil }
        if role != .plain { role = .plain }
        if isNested { isNested = false }
        if answer != nil { answer = nil }
        if proxy != nil { proxy = nil }
    }
}
