/// The first frame of each side: its version, and what it knows and grants.
struct HelloFrame: FrameContent {
    static let kind = FrameKind.hello

    /// The version of the protocol; the other fields are those of this one.
    let version: UInt64
    private(set) var features: Features = []
    /// Calls of the receiver that may wait to be started.
    private(set) var queuedCalls: UInt64 = 0
    /// One-way messages of the receiver that may run, if they have their own credit.
    private(set) var runningCalls: UInt64 = 0
    /// Bytes of the largest message that the sender takes.
    private(set) var message: UInt64 = 0
    private(set) var program = ConnectionProgram(name: "", version: "")

    init(_ features: Features, queuedCalls: Int, runningCalls: Int, message: Int, _ program: ConnectionProgram) {
        version = ProtocolLimits.version
        self.features = features
        self.queuedCalls = UInt64(queuedCalls)
        self.runningCalls = UInt64(runningCalls)
        self.message = UInt64(message)
        self.program = ConnectionProgram(
            name: program.name.cut(toBytes: ProtocolLimits.nameBytes),
            version: program.version.cut(toBytes: ProtocolLimits.versionBytes))
    }

    init(reading reader: inout WireReader) throws(ProtocolViolation) {
        let magic = try reader.raw(4)
        guard magic.elementsEqual(ProtocolLimits.magic) else {
            throw ProtocolViolation(.incompatible, "the peer does not speak the Distant Objects protocol")
        }
        version = try reader.number()
        do { try readFields(&reader) } catch {
            // Another version is refused for that, whatever else it says.
            guard version != ProtocolLimits.version else { throw error }
        }
        // Skips fields that a later version adds.
    }

    private mutating func readFields(_ reader: inout WireReader) throws(ProtocolViolation) {
        features = Features(rawValue: try reader.number())
        queuedCalls = try reader.number()
        runningCalls = try reader.number()
        message = max(ProtocolLimits.smallestMessage, try reader.number())
        let name = try reader.text(limit: ProtocolLimits.nameBytes)
        program = ConnectionProgram(
            name: name, version: reader.remaining == 0 ? "" : try reader.text(limit: ProtocolLimits.versionBytes))
        guard queuedCalls >= 1 else {
            throw ProtocolViolation(.malformed, "the peer grants no calls at all")
        }
    }

    func append(to outbox: inout Outbox) {
        for byte in ProtocolLimits.magic { outbox.append(byte: byte) }
        outbox.append(version)
        outbox.append(features.rawValue)
        outbox.append(queuedCalls)
        outbox.append(runningCalls)
        outbox.append(message)
        outbox.append(program.name)
        if !program.version.isEmpty { outbox.append(program.version) }
    }
}
