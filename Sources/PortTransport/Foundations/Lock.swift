internal import CPortShims

/// A mutex with an address of its own, so that it can stand beside state behind a pointer.
///
/// The owner that made it destroys it. Locking takes about 10 ns when no other thread wants the lock.
struct Lock: @unchecked Sendable {  // The pointer never changes; what it points to is the lock itself.
    private let pointer: UnsafeMutablePointer<port_lock>

    init() {
        pointer = .allocate(capacity: 1)
        pointer.initialize(to: port_lock())
    }

    /// The lock stored at an address inside an object.
    ///
    /// It lives as long as the object and must not be destroyed.
    @inline(__always)
    fileprivate init(at place: UnsafeMutablePointer<port_lock>) { pointer = place }

    func destroy() { pointer.deallocate() }

    @inline(__always)
    func lock() { port_lock_acquire(pointer) }

    /// Takes it if no thread has it.
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

/// Proof that the calling thread holds the lock that protects a `State`.
///
/// A function that needs the lock borrows one; a function that releases the lock consumes one, labelled `unlocking`; and a
/// function that releases the lock for a while and takes it again has one as `inout`. So the compiler checks what a
/// comment would only say. It has no size, and passing it on costs nothing. It does not tell two locks of the same `State` apart.
struct Held<State: ~Copyable>: ~Copyable {
    @inline(__always)
    fileprivate init() {}
}

/// A lock that protects a `State`, and hands out the proof that it is held.
struct StateLock<State: ~Copyable>: Sendable {
    private let base: Lock

    init() { base = Lock() }

    /// The lock stored at an address inside an object.
    @inline(__always)
    init(at place: UnsafeMutablePointer<port_lock>) { base = Lock(at: place) }

    func destroy() { base.destroy() }

    @inline(__always)
    func lock() -> Held<State> {
        base.lock()
        return Held()
    }

    /// Takes it if no thread has it.
    @inline(__always)
    func tryLock() -> Held<State>? { base.tryLock() ? Held() : nil }

    @inline(__always)
    func unlock(_ held: consuming Held<State>) { base.unlock() }

    /// Releases the lock while `body` runs.
    @inline(__always)
    func unlocked<R: ~Copyable, E: Error>(_ held: inout Held<State>, _ body: () throws(E) -> R) throws(E) -> R {
        base.unlock()
        defer { base.lock() }
        return try body()
    }

    @inline(__always)
    func withLock<R: ~Copyable, E: Error>(_ body: () throws(E) -> R) throws(E) -> R { try base.withLock(body) }

    @inline(__always)
    func withLock<R: ~Copyable, E: Error>(_ body: (borrowing Held<State>) throws(E) -> R) throws(E) -> R {
        base.lock()
        defer { base.unlock() }
        return try body(Held())
    }

    /// Waits for `condition` with the lock released meanwhile; false once the monotonic clock shows `deadline` (nil:
    /// never).
    func wait(for condition: Condition, _ held: borrowing Held<State>, until deadline: UInt64? = nil) -> Bool {
        condition.wait(base, until: deadline)
    }

    /// A proof for cases that the compiler cannot follow, such as a lock that another thread has taken.
    func assumeHeld() -> Held<State> { Held() }
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

/// The time of the monotonic clock in nanoseconds, which deadlines of this module refer to.
package func monotonicNow() -> UInt64 { port_now() }

/// The time of the monotonic clock after `delay`, or the latest time that it can represent.
package func monotonicNow(after delay: Duration) -> UInt64 {
    let (sum, isFar) = port_now().addingReportingOverflow(delay.nanoseconds)
    return isFar ? .max : sum
}
