import CPortShims
import KeyedArchive

/// What a thread keeps for itself, without a lock.
struct ThreadState {
    /// Set up for the connection that used it last, which is most often the next one, too.
    var message: OutboundMessage?
    /// As `message`.
    var decoder: ObjectDecoder?
    /// The configuration of the decoder, or of the last one: it seldom changes, which saves its reference counts.
    var decoderSettings: CoderSettings?
    /// The class of an object by reference that was looked up last.
    var lastClass: (type: ObjectIdentifier, messages: Unmanaged<ClassMessages>)?
    /// Room for what the thread runs, of which this layer knows nothing: see `ThreadTasks`.
    var tasks: (UInt, UInt, UInt, UInt) = (0, 0, 0, 0)

    /// The calling thread's; nil while the thread ends.
    @inline(__always)
    static var current: UnsafeMutablePointer<ThreadState>? {
        (port_thread_storage() ?? make())?.assumingMemoryBound(to: ThreadState.self)
    }

    @inline(never)
    private static func make() -> UnsafeMutableRawPointer? {
        let made = UnsafeMutablePointer<ThreadState>.allocate(capacity: 1)
        made.initialize(to: ThreadState())
        let isKept = port_thread_keep(made) { storage in
            guard let thread = storage?.assumingMemoryBound(to: ThreadState.self) else { return }
            thread.deinitialize(count: 1)
            thread.deallocate()
        }
        if isKept { return UnsafeMutableRawPointer(made) }
        made.deinitialize(count: 1)
        made.deallocate()
        return nil
    }
}
