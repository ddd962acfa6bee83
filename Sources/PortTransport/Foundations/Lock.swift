internal import CPortShims

/// A mutex with an address of its own, so that it can stand beside state that a pointer reaches.
///
/// Whoever made it destroys it; locking costs about 10 ns when nobody else wants it.
struct Lock: @unchecked Sendable {  // The pointer never changes; what it points to is the lock itself.
    private let pointer: UnsafeMutablePointer<port_lock>

    init() { self = Lock.make(1)[0] }

    private init(_ pointer: UnsafeMutablePointer<port_lock>) { self.pointer = pointer }

    /// Several in one block of memory, to be destroyed by its first.
    static func make(_ count: Int) -> [Lock] {
        let block = UnsafeMutablePointer<port_lock>.allocate(capacity: count)
        block.initialize(repeating: port_lock(), count: count)
        return (0..<count).map { Lock(block + $0) }
    }

    func destroy() { pointer.deallocate() }

    @inline(__always)
    func lock() { port_lock_acquire(pointer) }

    /// Takes it if nobody has it.
    @inline(__always)
    func tryLock() -> Bool { port_lock_try(pointer) }

    @inline(__always)
    func unlock() { port_lock_release(pointer) }

    @inline(__always)
    func withLock<R: ~Copyable, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        lock()
        defer { unlock() }
        return try body()
    }

    fileprivate func wait(_ condition: OpaquePointer, _ deadline: UInt64) -> Bool {
        port_condition_wait(condition, pointer, deadline)
    }
}

/// A condition to wait for under a `Lock`.
struct Condition: @unchecked Sendable {  // As `Lock`.
    let pointer: OpaquePointer

    init() { pointer = port_condition_create() }

    func destroy() { port_condition_destroy(pointer) }

    func signal() { port_condition_signal(pointer) }

    func broadcast() { port_condition_broadcast(pointer) }

    /// Waits with `lock` released meanwhile; false once the monotonic clock shows `deadline` (nil: never).
    func wait(_ lock: Lock, until deadline: UInt64? = nil) -> Bool {
        lock.wait(pointer, deadline ?? .max)
    }
}

/// The monotonic clock in nanoseconds: what deadlines of this module are measured by.
package func monotonicNow() -> UInt64 { port_now() }

/// The time of the monotonic clock once so long has passed, or the last it can show.
package func monotonicNow(after delay: Duration) -> UInt64 {
    let (sum, isFar) = port_now().addingReportingOverflow(delay.nanoseconds)
    return isFar ? .max : sum
}
