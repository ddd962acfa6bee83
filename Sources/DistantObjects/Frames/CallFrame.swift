/// A message to an object or to the answer of an earlier call.
///
/// The tables and the arguments follow. The bytes of a frame that was read are valid as long as those of the frame.
struct CallFrame {
    enum Target {
        /// An object of the receiver.
        case object(ObjectID)
        /// The answer to an earlier question of the sender.
        case answer(UInt32)
    }

    /// The name of a message, which the sender may number.
    enum Name {
        case known(UInt64)
        /// A name in UTF-8, which is not checked.
        case new(UnsafeRawBufferPointer, isInterned: Bool)
    }

    let flags: CallFlags
    /// The number of the question; nil for a one-way message.
    let question: UInt32?
    let target: Target
    let name: Name
    /// The microseconds that are left for the call; nil for any number.
    let timeLeft: UInt64?
    /// The keys and values of the metadata in turn, each after its length.
    private let packedMetadata: UnsafeRawBufferPointer?
    let argumentCount: Int

    @inline(__always)
    init(
        reading reader: inout WireReader, flags bits: UInt8, _ features: Features
    ) throws(ProtocolViolation) {
        flags = CallFlags(rawValue: bits)
        guard flags.isSubset(of: .known(features)) else {
            throw ProtocolViolation(.malformed, "a Call has unknown flags")
        }
        question = flags.contains(.oneWay) ? nil : try reader.number32()
        target = flags.contains(.toAnswer) ? .answer(try reader.number32()) : .object(try reader.objectID())
        let reference = try reader.number()
        name =
            reference >= Self.firstName
            ? .known(reference - Self.firstName)
            : .new(try reader.utf8(limit: ProtocolLimits.nameBytes), isInterned: reference == Self.newName)
        timeLeft = flags.contains(.deadline) ? try reader.number() : nil
        packedMetadata = flags.contains(.metadata) ? try Self.metadata(&reader) : nil
        argumentCount = Int(clamping: try reader.number())
    }

    /// The time by which the call has to be answered, by the receiver's clock; nil for any time.
    ///
    /// - Parameter now: Now, in nanoseconds; asked for only if it is needed.
    @inline(__always)
    func deadline(_ now: @autoclosure () -> UInt64) -> UInt64? {
        guard let timeLeft else { return nil }
        let (nanoseconds, overflow) = timeLeft.multipliedReportingOverflow(by: 1_000)
        let (instant, isFar) = now().addingReportingOverflow(nanoseconds)
        return overflow || isFar ? .max : instant
    }

    @inline(never)
    private static func metadata(
        _ reader: inout WireReader
    ) throws(ProtocolViolation) -> UnsafeRawBufferPointer {
        let length = try reader.count(minimum: 1)
        guard length <= ProtocolLimits.metadataBytes else {
            throw ProtocolViolation(
                .overLimit, "the metadata of a message has more than \(ProtocolLimits.metadataBytes) bytes")
        }
        return try reader.raw(length)
    }

    /// The metadata of the call; nil if there is none.
    @inline(__always)
    func metadata() throws(ProtocolViolation) -> [String: String]? {
        guard let packedMetadata else { return nil }
        return try Self.unpacked(packedMetadata)
    }

    @inline(never)
    private static func unpacked(
        _ metadata: UnsafeRawBufferPointer
    ) throws(ProtocolViolation) -> [String: String] {
        var pairs = WireReader(metadata)
        var unpacked: [String: String] = [:]
        while pairs.remaining > 0 {
            let key = try pairs.text(limit: metadata.count)
            unpacked[key] = try pairs.text(limit: metadata.count)
        }
        return unpacked
    }

    // MARK: Writing

    // How a name is written: as a new one, which gets the next number, as one without number, or by its number.
    private static let newName: UInt64 = 0
    private static let inlineName: UInt64 = 1
    private static let firstName: UInt64 = 2

    @inline(__always)
    static func append(_ target: Target, to outbox: inout Outbox) {
        switch target {
        case .object(let id): outbox.append(id)
        case .answer(let question): outbox.append(question)
        }
    }

    @inline(__always)
    static func append(_ name: String, _ naming: Naming, to outbox: inout Outbox) {
        switch naming {
        case .known(let number): outbox.append(UInt64(number) + firstName)
        case .new:
            outbox.append(newName)
            outbox.append(name)
        case .inline:
            outbox.append(inlineName)
            outbox.append(name)
        }
    }

    /// - Parameter metadata: The keys and values in turn, each after its length.
    static func append(metadata: [UInt8], to outbox: inout Outbox) {
        outbox.append(metadata.count)
        metadata.withUnsafeBytes { outbox.append(contentsOf: $0) }
    }
}

/// The flag bits of a `Call` frame.
package struct CallFlags: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// A one-way message: the caller wants no `Return`, and the question field is absent.
    package static let oneWay = CallFlags(rawValue: 1)
    /// The header contains the time left until the deadline.
    package static let deadline = CallFlags(rawValue: 2)
    /// The answer is kept until a `Drop` names it.
    package static let keepAnswer = CallFlags(rawValue: 4)

    /// The target is the answer to an earlier call of the sender, not an object.
    package static let toAnswer = CallFlags(rawValue: 8)
    /// The sender wants the answer only as a target or argument: a result that is an object is not returned.
    package static let promise = CallFlags(rawValue: 16)

    /// The header contains metadata.
    package static let metadata = CallFlags(rawValue: 32)

    /// The flags that a message may have.
    ///
    /// - Parameter features: What both sides have agreed on.
    static func known(_ features: Features) -> CallFlags {
        var known: CallFlags = [.oneWay, .deadline, .keepAnswer]
        if features.contains(.promises) { known.formUnion([.toAnswer, .promise]) }
        if features.contains(.metadata) { known.insert(.metadata) }
        return known
    }
}
