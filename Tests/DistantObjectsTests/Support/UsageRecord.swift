import TestSupport
import Testing

/// The resources of the process at one time.
struct UsageRecord {
    private let channels: [String]
    private let descriptors: Int
    private let threads: Int

    /// Counts once Dispatch has opened its descriptors for timers.
    init() async {
        try? await Task.sleep(for: .milliseconds(1))
        channels = Usage.channels
        descriptors = Usage.descriptors
        threads = Usage.threads
    }

    /// Waits until the process has no more than at that time, no shared memory and no children.
    ///
    /// Threads that have nothing to do end after some seconds.
    func expectNoMore() async {
        await eventually("as few sockets and pipes are open as before: \(Usage.channels) after \(channels)") {
            Usage.channels.count <= channels.count
        }
        await eventually(
            "as few descriptors are open as before: \(Usage.descriptors) after \(descriptors): \(Usage.open)"
        ) { Usage.descriptors <= descriptors }
        await expectNoMoreThreads()
        await eventually("no memory is shared") { Usage.sharedMemory() == 0 }
        await eventually("no child is left") { Usage.children.isEmpty }
    }

    /// Looks less and less often, because each look has a task run on one of the threads, which then does not end.
    private func expectNoMoreThreads() async {
        let deadline = ContinuousClock.now + TestTimeout.wait
        var pause = Duration.milliseconds(1)
        while Usage.threads > threads {
            guard ContinuousClock.now < deadline else {
                Issue.record("\(Usage.threads) threads run, after \(threads)")
                return
            }
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, .seconds(10))
        }
    }
}
