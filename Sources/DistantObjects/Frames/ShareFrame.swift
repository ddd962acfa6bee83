/// A step of the agreement on shared memory, or about a region for byte values.
///
/// The step is in the flags. Only the steps about regions have a content.
struct ShareFrame: FrameContent {
    static let kind = FrameKind.share

    let step: ShareStep
    /// The number of the region.
    private(set) var region: UInt64 = 0
    /// The mentions that are given back.
    private(set) var mentions: UInt64 = 0

    init(_ step: ShareStep) { self.step = step }

    /// - Parameter region: The number of the region that the step is about.
    init(_ step: ShareStep, region: UInt64, mentions: UInt64 = 0) {
        (self.step, self.region, self.mentions) = (step, region, mentions)
    }

    /// - Parameter knowsBlobs: Whether both sides have agreed on regions for byte values.
    init(reading reader: inout WireReader, flags: UInt8, knowsBlobs: Bool) throws(ProtocolViolation) {
        guard let step = ShareStep(rawValue: flags) else {
            throw ProtocolViolation(.malformed, "a Share has the unknown flags \(flags)")
        }
        guard knowsBlobs || !step.isOfBlobs else {
            throw ProtocolViolation(.unknownName, "a Share needs a feature that was not agreed on")
        }
        self.step = step
        if step.isOfBlobs { region = try reader.number() }
        if step == .giveBack { mentions = try reader.number() }
        try reader.end()
    }

    var flags: UInt8 { step.rawValue }

    func append(to outbox: inout Outbox) {
        if step.isOfBlobs { outbox.append(region) }
        if step == .giveBack { outbox.append(mentions) }
    }
}

/// The step that a `Share` frame takes: its flags.
package enum ShareStep: UInt8, Sendable {
    /// The initiator asks the other side to make shared memory.
    case ask = 0
    /// The other side has made it; without descriptors it has not.
    case give = 1
    /// All further frames come through the memory.
    case move = 2
    /// The initiator does not use the memory and stays on the socket. Sent only if the other side knows this step.
    case decline = 3
    /// The receiver has taken a region for blobs that the other side offered.
    case take = 4
    /// It has not.
    case refuse = 5
    /// The taker of a region lets go of some mentions of it.
    case giveBack = 6
    /// The maker of a region no longer uses it.
    case release = 7

    /// Whether it is about a region for blobs.
    var isOfBlobs: Bool { rawValue >= ShareStep.take.rawValue }
}
