import KeyedArchive

/// The frames that transitions have written and that the channel does not have yet.
///
/// It is used under the connection's lock and emptied before the lock is released, so that the order of transitions is the
/// order on the wire. Its memory is reused. The first frame, usually the only one, needs no allocation.
struct Outbox: ~Copyable {
    /// How the channel sends a frame.
    enum Form: UInt8 {
        /// The bytes in the outbox are the whole frame.
        case whole
        /// The values of a message follow, which are in its encoder.
        case withValues
        /// The segments of a large message follow in fragments.
        case withFragments
        /// Descriptors of shared memory are sent with it.
        case withDescriptors
        /// It is the last frame on the socket.
        case lastOnSocket
        /// It is the last frame of the connection.
        case last
    }

    struct Frame {
        let kind: FrameKind
        let flags: UInt8
        let form: Form
        /// The offset where its bytes end and those of the next frame begin.
        let end: Int
        /// The encoder with the rest of the frame.
        ///
        /// Its owner keeps it until the outbox is emptied.
        let encoder: Unmanaged<ObjectEncoder>?
    }

    private var bytes = PrefixBuffer()
    /// The offset where the current frame starts.
    private var start = 0
    private var first: Frame?
    private var others: [Frame] = []
    /// The descriptors of the one frame that has some.
    ///
    /// The channel owns them once it has the frame.
    private(set) var descriptors: [CInt] = []

    var isEmpty: Bool { first == nil }

    /// The bytes of the current frame.
    var count: Int { bytes.count - start }

    /// Completes the current frame.
    mutating func finish(
        _ kind: FrameKind, flags: UInt8 = 0, _ form: Form = .whole, encoder: Unmanaged<ObjectEncoder>? = nil
    ) {
        let frame = Frame(kind: kind, flags: flags, form: form, end: bytes.count, encoder: encoder)
        start = bytes.count
        if first == nil { first = frame } else { others.append(frame) }
    }

    /// Completes the current frame, with descriptors that the outbox owns until it is emptied.
    mutating func finish(_ kind: FrameKind, flags: UInt8, descriptors: [CInt]) {
        self.descriptors = descriptors
        finish(kind, flags: flags, .withDescriptors)
    }

    /// Passes each frame to the closure, in order.
    ///
    /// The outbox is empty afterwards.
    @inline(__always)
    mutating func empty(into send: (Frame, UnsafeRawBufferPointer, [CInt]) -> Void) {
        guard let frame = first else { return }
        send(frame, UnsafeRawBufferPointer(rebasing: bytes.bytes[..<frame.end]), descriptors)
        if !others.isEmpty { emptyOthers(after: frame.end, into: send) }
        first = nil
        start = 0
        bytes.reset()
    }

    @inline(never)
    private mutating func emptyOthers(after first: Int, into send: (Frame, UnsafeRawBufferPointer, [CInt]) -> Void) {
        var start = first
        for frame in others {
            send(frame, UnsafeRawBufferPointer(rebasing: bytes.bytes[start..<frame.end]), descriptors)
            start = frame.end
        }
        others.removeAll(keepingCapacity: others.count <= 16)
    }

    // MARK: Bytes of the current frame

    mutating func append(byte: UInt8) { bytes.append(byte: byte) }
    @inline(__always)
    mutating func append(_ value: UInt64) { bytes.append(value) }
    mutating func append(_ value: UInt32) { bytes.append(UInt64(value)) }
    mutating func append(_ value: Int) { bytes.append(UInt64(value)) }
    mutating func append(_ text: String) { bytes.append(text) }
    mutating func append(_ id: ObjectID) { bytes.append(id) }
    mutating func append(contentsOf more: UnsafeRawBufferPointer) { bytes.append(contentsOf: more) }

    /// Writes the body of a `Goodbye`.
    mutating func appendGoodbye(entered: UInt64, _ reason: GoodbyeReason, _ text: String) {
        bytes.appendGoodbye(entered: entered, reason, text)
    }
}
