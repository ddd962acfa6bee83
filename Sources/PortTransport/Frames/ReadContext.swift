internal import CPortShims

/// What a reading thread brings along: idle channels have no buffers of their own.
///
/// Shown by its address, which costs no counting of references on the way of each frame.
struct ReadContext: ~Copyable {
    /// The buffer that is read into, once no part of it is kept any more.
    ///
    /// The one reference that is not a slice's, so that uniqueness means just that. Asked before a read and not after
    /// it: what a small message kept is nearly always handled by then.
    private var buffer: ReadBuffer?
    private var ancillaryMemory: UnsafeMutablePointer<port_ancillary>?

    init() {}

    deinit { ancillaryMemory?.deallocate() }

    /// For one use, such as the end of a channel.
    static func withTemporary<R>(_ body: (UnsafeMutablePointer<ReadContext>) -> R) -> R {
        var context = ReadContext()
        return withUnsafeMutablePointer(to: &context, body)
    }

    /// Where what comes beside the bytes goes; most channels never ask.
    var ancillary: UnsafeMutablePointer<port_ancillary> {
        mutating get {
            if let ancillaryMemory { return ancillaryMemory }
            let made = UnsafeMutablePointer<port_ancillary>.allocate(capacity: 1)
            made.initialize(to: port_ancillary())
            ancillaryMemory = made
            return made
        }
    }

    /// The buffer for the next read, without a reference of its own.
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

    /// Goes on in a buffer that holds a part of a frame.
    mutating func resume(_ kept: ReadBuffer) { buffer = kept }

    /// Takes the buffer out, because a part of a frame is to stay in it.
    mutating func takeCurrent() -> ReadBuffer? {
        let taken = buffer
        buffer = nil
        return taken
    }
}
