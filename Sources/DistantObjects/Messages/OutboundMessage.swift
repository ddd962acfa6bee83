import KeyedArchive

/// A message on its way out: the encoded arguments or result, and what its header needs.
///
/// Owned by one thread at a time: the caller until commit, then the connection, then the coder's pool.
final class OutboundMessage: @unchecked Sendable {
    let encoder: ObjectEncoder
    var argumentCount = 0
    /// The object it goes to.
    ///
    /// The caller holds the proxy until the message is committed or withdrawn.
    var target = ObjectID.rootDirectory
    var name = ""
    var deadline: Duration?

    /// What the encoder is configured for.
    private(set) var settings: CoderSettings

    init(for coder: PortCoder) {
        settings = coder.settings
        encoder = ObjectEncoder(limits: coder.settings.limits, classes: coder.settings.classes)
        encoder.codingOwner = coder
        encoder.allowsExternals = true
    }

    /// Makes a message that was used before, with settings that fit, one of this coder's.
    func prepare(for coder: PortCoder) {
        encoder.codingOwner = coder
        guard settings !== coder.settings else { return }
        settings = coder.settings
        encoder.configure(limits: coder.settings.limits)
    }

    func encode<Argument: Encodable>(_ argument: Argument) throws {
        try encoder.encodeTop(argument)
        argumentCount += 1
    }

    /// Whether the message has to be measured against what the peer takes.
    ///
    /// Without tables and this small it fits anywhere.
    var mayBeTooLarge: Bool {
        encoder.byteCount > 4_096 || !encoder.externals.isEmpty || !encoder.shapes.isEmpty || name.utf8.count > 256
    }

    /// Lets go of everything the message held.
    ///
    /// Runs user code (`deinit`): never under a lock.
    func reset() {
        encoder.reset()
        encoder.codingOwner = nil
        argumentCount = 0
        // Answers have no name, and are measured with it: a long one must not stay for them.
        name = ""
        deadline = nil
    }
}
