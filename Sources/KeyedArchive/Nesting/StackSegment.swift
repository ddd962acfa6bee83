#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Runs work on the stack of a new thread.
///
/// The code of a type calls the coder, which calls the code of the next type: long chains of objects and deep values need more
/// stack than a thread has. After a number of levels the work continues on a new thread, and the current one waits for it.
package enum StackSegment {
    /// The levels of objects in one segment.
    package static let levels = 100
    /// The levels of values in one segment, and on the stack that coding begins on, which may have only 512 KiB.
    ///
    /// Such a level takes up to 6 KiB in a debug build.
    package static let values = 64
    private static let size = 4 << 20

    /// Runs the body on another stack; returns what it returns.
    ///
    /// - Throws: What the body throws; `ArchiveError.limit` if the system has no thread left.
    package static func run<T>(_ body: () throws -> T) throws -> T {
        try withoutActuallyEscaping(body) { body in
            let job = Job(body)
            try start(job)
            return try job.result()
        }
    }

    /// Runs a job on a new thread, and waits for its end.
    private static func start(_ job: AnyJob) throws {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setstacksize(&attributes, size)
        // Alive until the thread has ended, which this waits for.
        let argument = Unmanaged.passUnretained(job).toOpaque()
        #if canImport(Darwin)
            var thread: pthread_t?
            let status = pthread_create(&thread, &attributes, { runJob($0) }, argument)
            guard status == 0, let thread else { throw noThread(status) }
        #else
            var thread = pthread_t()
            let status = pthread_create(&thread, &attributes, { $0.flatMap(runJob) }, argument)
            guard status == 0 else { throw noThread(status) }
        #endif
        withExtendedLifetime(job) { _ = pthread_join(thread, nil) }
    }

    private static func noThread(_ status: CInt) -> ArchiveError {
        ArchiveError(.limit, "the system has no thread for what is nested so deep (error \(status))")
    }
}

private func runJob(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    Unmanaged<AnyJob>.fromOpaque(argument).takeUnretainedValue().run()
    return nil
}

private class AnyJob {
    func run() {}
}

private final class Job<T>: AnyJob {
    private var body: (() throws -> T)?
    private var outcome: Result<T, any Error>?

    init(_ body: @escaping () throws -> T) { self.body = body }

    override func run() {
        outcome = body.map { body in Result { try body() } }
        body = nil
    }

    func result() throws -> T {
        guard let outcome else { throw CancellationError() }
        return try outcome.get()
    }
}
