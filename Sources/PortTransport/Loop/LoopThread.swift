internal import CPortShims

/// The record of a thread that works for a loop.
struct LoopThread {
    /// The loop's address, compared and never followed.
    let loop: UnsafeRawPointer
    /// The token of the leadership that the thread has or had.
    var token: UInt64
    /// The thread's own read buffers: a thread that the kernel holds in a read keeps them.
    let readContext: UnsafeMutablePointer<ReadContext>

    init(loop: UnsafeRawPointer, token: UInt64, readContext: UnsafeMutablePointer<ReadContext>) {
        self.loop = loop
        self.token = token
        self.readContext = readContext
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
