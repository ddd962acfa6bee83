import Dispatch
import Foundation

/// Runs work on the stack of a new thread.
///
/// `init(coder:)` calls the coder, which calls the next `init(coder:)`: long chains of objects need more stack than a
/// thread has. After a number of levels the work continues on a new thread, and the current one waits for it.
enum StackSegment {
    /// The levels of objects in one segment.
    static let levels = 100
    private static let size = 4 << 20

    static func run<T>(_ body: @escaping () throws -> T) throws -> T {
        let job = Job(body)
        let thread = Thread { job.run() }
        thread.stackSize = size
        thread.start()
        return try job.wait()
    }

    /// Unchecked: the new thread uses `result` and `body` before the signal, the waiting thread after it.
    private final class Job<T>: @unchecked Sendable {
        private var body: (() throws -> T)?
        private var result: Result<T, any Error>?
        private let done = DispatchSemaphore(value: 0)

        init(_ body: @escaping () throws -> T) { self.body = body }

        func run() {
            result = body.map { body in Result { try body() } }
            body = nil
            done.signal()
        }

        func wait() throws -> T {
            done.wait()
            guard let result else { throw CancellationError() }
            return try result.get()
        }
    }
}
