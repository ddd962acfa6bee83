internal import CPortShims

/// The buffers of a reading thread: idle channels have none of their own.
///
/// Passed by its address, so that no references are counted for each frame.
struct ReadContext: ~Copyable {
    /// The buffer to read into, once no slice of it is kept.
    ///
    /// All other references are those of slices, so the reference is unique when there is no slice. Checked before a
    /// read and not after it: by then a small message that kept a slice has nearly always been handled.
    private var buffer: ReadBuffer?
    private var ancillaryMemory: UnsafeMutablePointer<port_ancillary>?
    /// A read has brought a frame, or bytes of a large message; set back by who asks.
    ///
    /// A part of a frame does not count: a peer could keep a thread polling with a byte now and then.
    var hasContent = false

    init() {}

    deinit { ancillaryMemory?.deallocate() }

    /// Runs `body` with a context for one use, such as the end of a channel.
    static func withTemporary<R>(_ body: (UnsafeMutablePointer<ReadContext>) -> R) -> R {
        var context = ReadContext()
        return withUnsafeMutablePointer(to: &context, body)
    }

    /// The memory for descriptors and credentials that come with the bytes; made when first used, because few channels
    /// do.
    var ancillary: UnsafeMutablePointer<port_ancillary> {
        mutating get {
            if let ancillaryMemory { return ancillaryMemory }
            let made = UnsafeMutablePointer<port_ancillary>.allocate(capacity: 1)
            made.initialize(to: port_ancillary())
            ancillaryMemory = made
            return made
        }
    }

    /// The buffer for the next read, without a counted reference.
    @inline(__always)
    mutating func current() -> Unmanaged<ReadBuffer> {
        if isKnownUniquelyReferenced(&buffer), let buffer { return Unmanaged.passUnretained(buffer) }
        return makeBuffer()
    }

    @inline(never)
    private mutating func makeBuffer() -> Unmanaged<ReadBuffer> {
        let made = ReadBuffer()
        buffer = made
        return Unmanaged.passUnretained(made)
    }

    /// Continues in a buffer that holds a part of a frame.
    mutating func resume(_ kept: ReadBuffer) { buffer = kept }

    /// Removes the buffer, because a part of a frame stays in it.
    mutating func takeCurrent() -> ReadBuffer? {
        let taken = buffer
        buffer = nil
        return taken
    }
}
