internal import CPortShims

/// What a thread knows while it works for a loop.
struct LoopThread {
    /// The loop's address, compared and never followed.
    let loop: UnsafeRawPointer
    /// The leadership the thread has or had.
    var token: UInt64
    /// What it reads into: a thread that is held in a read keeps its own.
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
