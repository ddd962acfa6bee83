@testable import PortTransport

/// A value behind a lock that the thread sanitizer understands, which it does not with `Synchronization.Mutex`.
final class Guarded<Value>: @unchecked Sendable {  // `lock` protects `value`.
    private let lock = Lock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    deinit { lock.destroy() }

    func withLock<R>(_ body: (inout Value) throws -> R) rethrows -> R {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
