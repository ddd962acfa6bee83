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
        await eventually("as few sockets and pipes are open as before") { Usage.channels.count <= channels.count }
        #expect(Usage.channels.count <= channels.count, "\(Usage.channels) after \(channels)")
        await eventually("as few descriptors are open as before") { Usage.descriptors <= descriptors }
        #expect(Usage.descriptors <= descriptors, "\(Usage.descriptors) after \(descriptors): \(Usage.open)")
        await eventually("as few threads run as before") { Usage.threads <= threads }
        #expect(Usage.threads <= threads)
        await eventually("no memory is shared") { Usage.sharedMemory() == 0 }
        await eventually("no child is left") { Usage.children.isEmpty }
    }
}
