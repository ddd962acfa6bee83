#if canImport(Glibc)
    import Foundation
    import TestSupport

    /// Threads that run the tasks of this process in place of Dispatch.
    ///
    /// While a task waits for one of its threads, Dispatch looks once a second at /proc for what they do, and ends the
    /// process if it has no descriptor left for that. How often a task waits depends on how busy the machine is.
    final class TaskThreads: TaskExecutor, @unchecked Sendable {  // `condition` protects `jobs`.
        private static let shared = TaskThreads(4)

        private let condition = NSCondition()
        private var jobs: [UnownedJob] = []

        private typealias Enqueue = @convention(thin) (UnownedJob) -> Void
        private typealias Hook = @convention(thin) (UnownedJob, Enqueue) -> Void

        /// From now on tasks that have no executor of their own run on these threads.
        static func replaceDispatch() {
            guard let symbol = dlsym(nil, "swift_task_enqueueGlobal_hook") else {
                preconditionFailure("The runtime has no hook for tasks.")
            }
            symbol.assumingMemoryBound(to: Hook?.self).pointee = { job, _ in TaskThreads.shared.add(job) }
        }

        private init(_ count: Int) {
            for _ in 0..<count { Thread.detachNewThread { self.run() } }
        }

        func enqueue(_ job: consuming ExecutorJob) { add(UnownedJob(job)) }

        private func add(_ job: UnownedJob) {
            condition.withLock { jobs.append(job) }
            condition.signal()
        }

        private func run() {
            while true {
                let job = condition.withLock {
                    while jobs.isEmpty { condition.wait() }
                    return jobs.removeFirst()
                }
                job.runSynchronously(on: asUnownedTaskExecutor())
            }
        }
    }
#endif
