internal import CPortShims

/// What a thread knows while it works for a loop.
struct LoopThread {
    /// The loop's address, compared and never followed.
    let loop: UnsafeRawPointer
    /// The leadership the thread has or had.
    var token: UInt64
    /// It reads and parses as the leader, and so cannot lose the leadership.
    var isReading = false
    /// See `LoopStorage`.
    fileprivate var storage: UnsafeMutableRawPointer?
    fileprivate var freeStorage: (@Sendable (UnsafeMutableRawPointer) -> Void)?

    init(loop: UnsafeRawPointer, token: UInt64) {
        self.loop = loop
        self.token = token
    }

    /// To be called when the thread ends, with no lock held.
    mutating func giveBackStorage() {
        if let storage { freeStorage?(storage) }
        storage = nil
    }

    /// The calling thread's record, nil on a thread of no loop.
    @inline(__always)
    static var current: UnsafeMutablePointer<LoopThread>? {
        port_thread_record()?.assumingMemoryBound(to: LoopThread.self)
    }

    @inline(__always)
    static func isCurrent(_ loop: AnyObject) -> Bool {
        guard let current else { return false }
        return current.pointee.belongs(to: loop)
    }

    @inline(__always)
    func belongs(to loop: AnyObject) -> Bool {
        self.loop == UnsafeRawPointer(Unmanaged.passUnretained(loop).toOpaque())
    }
}

/// A place on each loop's thread for something of whoever uses the transport.
package enum LoopStorage {
    /// What the calling thread keeps; nil on a thread of no loop, and until something is put there.
    @inline(__always)
    package static var pointer: UnsafeMutableRawPointer? { LoopThread.current?.pointee.storage }

    /// Puts something there, to be freed when the thread ends; nil on a thread of no loop.
    package static func make(
        _ make: () -> UnsafeMutableRawPointer, free: @escaping @Sendable (UnsafeMutableRawPointer) -> Void
    ) -> UnsafeMutableRawPointer? {
        guard let thread = LoopThread.current else { return nil }
        thread.pointee.giveBackStorage()
        thread.pointee.storage = make()
        thread.pointee.freeStorage = free
        return thread.pointee.storage
    }
}
