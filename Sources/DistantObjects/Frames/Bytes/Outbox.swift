import KeyedArchive

/// The frames that transitions have written and that the channel does not have yet.
///
/// It is used under the connection's lock and emptied before the lock is released, so that the order of transitions is the
/// order on the wire. Its memory is reused. The first frame, usually the only one, needs no allocation.
///
///     open --(this side's Goodbye, or the end of the connection)--> closed
///
/// What is written to a closed outbox is dropped: a Goodbye is the last frame of its sender. So those who write need not ask.
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
        /// The offset where its bytes start.
        let start: UInt32
        /// The offset where its bytes end and those of the next frame begin.
        let end: UInt32
        /// The encoder with the rest of the frame.
        ///
        /// Its owner keeps it until the outbox is emptied.
        let encoder: Unmanaged<ObjectEncoder>?
    }

    /// The number of frames written so far, which is the number of the last one.
    private(set) var written: UInt64 = 0
    /// Whether a message was written that is large enough for shared memory to be worth it.
    private(set) var hasWrittenLarge = false
    /// Whether what is written from now on is dropped.
    private(set) var isClosed = false

    private var bytes = PrefixBuffer()
    private(set) var first: Frame?
    /// The frames after the first, in order.
    private(set) var others: [Frame] = []
    /// The descriptors of the one frame that has some.
    ///
    /// The channel owns them once it has the frame.
    private(set) var descriptors: [CInt] = []

    /// Whether a frame is sent once: `Hello`, or one that defines shapes or classes.
    ///
    /// The frames that follow need less memory.
    private var hasSingle = false
    /// The offset where the current frame starts.
    private var start: UInt32 = 0

    var isEmpty: Bool { first == nil }

    /// The bytes of the current frame.
    var count: Int { bytes.count - Int(start) }

    // MARK: Writing

    /// Writes a frame without tables.
    @inline(__always)
    mutating func write<Frame: FrameContent>(_ frame: Frame) {
        frame.append(to: &self)
        finish(Frame.kind, flags: frame.flags)
    }

    /// Completes a frame whose body is the encoder's message.
    mutating func finish(_ kind: FrameKind, flags: UInt8, with encoder: ObjectEncoder) {
        guard count + encoder.byteCount <= ProtocolLimits.wholeFrame else {
            if encoder.byteCount >= ProtocolLimits.largeContent { hasWrittenLarge = true }
            return finish(kind, flags: flags, .withFragments, encoder: .passUnretained(encoder))
        }
        if let parts = encoder.plainParts {
            append(contentsOf: parts.header)
            return finish(kind, flags: flags, .withValues, encoder: .passUnretained(encoder))
        }
        encoder.forEachSegment { append(contentsOf: $0) }
        finish(kind, flags: flags)
    }

    /// Writes a frame that carries descriptors, which the outbox owns until it is emptied.
    ///
    /// A closed outbox passes them on as well, because the channel closes what it does not send.
    mutating func write(_ kind: FrameKind, flags: UInt8, descriptors: [CInt]) {
        self.descriptors = descriptors
        if isClosed, descriptors.isEmpty { return }
        add(kind, flags, .withDescriptors, nil)
    }

    /// Writes this side's Goodbye, and closes the outbox.
    mutating func write(_ goodbye: GoodbyeFrame) {
        goodbye.append(to: &bytes)
        finish(.goodbye, .last)
        isClosed = true
    }

    /// Closes the outbox because the connection has ended.
    mutating func close() { isClosed = true }

    /// Completes the current frame.
    @inline(__always)
    mutating func finish(
        _ kind: FrameKind, flags: UInt8 = 0, _ form: Form = .whole, encoder: Unmanaged<ObjectEncoder>? = nil
    ) {
        guard !isClosed else { return bytes.truncate(to: Int(start)) }
        add(kind, flags, form, encoder)
    }

    private mutating func add(
        _ kind: FrameKind, _ flags: UInt8, _ form: Form, _ encoder: Unmanaged<ObjectEncoder>?
    ) {
        written += 1
        let end = UInt32(truncatingIfNeeded: bytes.count)
        let frame = Frame(kind: kind, flags: flags, form: form, start: start, end: end, encoder: encoder)
        start = end
        if kind == .hello { hasSingle = true }
        if first == nil { first = frame } else { others.append(frame) }
    }

    /// The bytes of a complete frame.
    @inline(__always)
    func bytes(of frame: Frame) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes.bytes[Int(frame.start)..<Int(frame.end)])
    }

    /// Removes all frames, once they are sent.
    @inline(__always)
    mutating func removeAll() {
        if !others.isEmpty { others.removeAll(keepingCapacity: others.count <= 16) }
        first = nil
        start = 0
        bytes.reset(keeping: hasSingle ? 24 : 16_384)
        hasSingle = false
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

    /// Writes the definition of a shape or a class, after its length.
    mutating func append(definition: [UInt8]) {
        hasSingle = true
        bytes.append(definition.count)
        definition.withUnsafeBytes { bytes.append(contentsOf: $0) }
    }
}
