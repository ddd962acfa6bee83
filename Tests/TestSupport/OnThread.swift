#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Runs the body on a new thread, which belongs to no executor and no event loop.
package func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        let work = ThreadWork { continuation.resume(with: Swift.Result { try body() }) }
        let argument = Unmanaged.passRetained(work).toOpaque()
        #if canImport(Glibc)
            var thread = pthread_t()
            let status = pthread_create(&thread, nil, { $0.flatMap(ThreadWork.run) }, argument)
            if status == 0 { pthread_detach(thread) }
        #else
            var thread: pthread_t?
            let status = pthread_create(&thread, nil, { ThreadWork.run($0) }, argument)
            if status == 0, let thread { pthread_detach(thread) }
        #endif
    }
}

private final class ThreadWork: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
        self.run = run
    }

    static func run(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        Unmanaged<ThreadWork>.fromOpaque(argument).takeRetainedValue().run()
        return nil
    }
}
