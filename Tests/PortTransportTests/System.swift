import CPortShims

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

typealias iovecType = iovec

/// What the process's descriptors lead to, by the names the kernel gives: `socket:[4711]`, `/tmp/x (deleted)`.
///
/// A mere count would be disturbed by the tests that run at the same time.
enum OpenDescriptors {
    static func name(_ descriptor: CInt) -> String? {
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = buffer.withUnsafeMutableBytes { bytes in
            let text = bytes.bindMemory(to: CChar.self)
            return text.baseAddress.map { readlink("/proc/self/fd/\(descriptor)", $0, bytes.count) } ?? -1
        }
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }

    static func count(_ isCounted: (String) -> Bool) -> Int {
        (0..<2_048).count { name($0).map(isCounted) ?? false }
    }
}

/// A thread that belongs to no executor.
func onPlainThread<R: Sendable>(_ body: @escaping @Sendable () -> R) async -> R {
    await withCheckedContinuation { continuation in
        let box = Box { continuation.resume(returning: body()) }
        let started = port_thread_start(
            { context in
                Unmanaged<Box>.fromOpaque(context!).takeRetainedValue().body()
                return nil
            }, Unmanaged.passRetained(box).toOpaque(), "plain")
        precondition(started == 0)
    }
}

private final class Box: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}
