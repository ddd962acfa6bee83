internal import CPortShims
internal import Synchronization

extension EventLoop {
    /// The process's loop, made at its first use; a forked child gets one of its own.
    ///
    /// To open connections, call `started()` first: it can report that the system has no descriptor or thread left.
    package static var shared: EventLoop {
        do {
            return try started()
        } catch {
            fatalError("the event loop of this process cannot be started: \(error)")
        }
    }

    /// The process's loop, made if there is none.
    package static func started() throws(TransportError) -> EventLoop {
        if let address = UnsafeRawPointer(bitPattern: sharedAddress.load(ordering: .acquiring)) {
            let loop = Unmanaged<EventLoop>.fromOpaque(address).takeUnretainedValue()
            if loop.isAlive { return loop }
        }
        return try replaceShared()
    }

    private static func replaceShared() throws(TransportError) -> EventLoop {
        let old = sharedAddress.load(ordering: .acquiring)
        let made = try EventLoop()
        let address = UInt(bitPattern: Unmanaged.passRetained(made).toOpaque())
        let (exchanged, current) = sharedAddress.compareExchange(
            expected: old, desired: address, ordering: .acquiringAndReleasing)
        if exchanged { return made }
        Unmanaged.passUnretained(made).release()
        guard let other = UnsafeRawPointer(bitPattern: current) else { return made }
        return Unmanaged<EventLoop>.fromOpaque(other).takeUnretainedValue()
    }
}

/// The retained shared loop.
///
/// An atomic and no lock, because a lock might be held by another thread at a `fork`.
private let sharedAddress = Atomic<UInt>(0)
