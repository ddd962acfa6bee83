import CPortShims

/// Runs the body on a new thread, which belongs to no executor and no event loop.
///
/// - Throws: What the body throws; `ConnectionError.transport` if the system has no thread left.
func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withUnsafeThrowingContinuation { continuation in
        let thread = Unmanaged.passRetained(OwnThread { continuation.resume(with: Result { try body() }) })
        let status = port_thread_start(
            { context in
                guard let context else { return nil }
                Unmanaged<OwnThread>.fromOpaque(context).takeRetainedValue().body()
                return nil
            }, thread.toOpaque(), "distant-stream")
        guard status != 0 else { return }
        thread.release()
        continuation.resume(
            throwing: ConnectionError(.transport, "the system has no thread for the stream (error \(status))"))
    }
}

/// What a new thread runs.
private final class OwnThread: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}
