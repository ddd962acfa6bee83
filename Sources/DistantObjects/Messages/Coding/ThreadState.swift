import CPortShims
import KeyedArchive

/// State that each thread has for itself, so that it needs no lock.
struct ThreadState {
    /// An encoder and a decoder to reuse, set up for the connection that used them last.
    ///
    /// The next use is usually for the same connection.
    struct SpareCoders {
        var message: OutboundMessage?
        var decoder: ObjectDecoder?
        /// The settings of `decoder`.
        ///
        /// They stay here while the decoder is in use. They seldom change, so they are not retained for each use.
        var decoderSettings: CoderSettings?
    }

    var spare = SpareCoders()
    /// The last class that was looked up for an object by reference.
    var lastClass: (type: ObjectIdentifier, messages: Unmanaged<ClassMessages>)?
    /// Storage for `ThreadTasks`, as four words: the folder `Messages` does not know the types in it.
    var tasks: (UInt, UInt, UInt, UInt) = (0, 0, 0, 0)

    /// The state of the calling thread; nil while the thread exits.
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
