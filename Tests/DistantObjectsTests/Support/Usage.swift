import Dispatch

@testable import PortTransport

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

/// The resources of the whole process, for exit tests, where no other test runs.
enum Usage {
    /// The number of open descriptors, without those to a sanitizer's program, and without those of the pool for blocking
    /// calls.
    ///
    /// How many the pool keeps depends on how many calls have read at the same time.
    static var descriptors: Int {
        while true {
            let pool = BlockingReaderResources.descriptorsInPool
            let count = own.count
            // Both have to be of the same time.
            if pool == BlockingReaderResources.descriptorsInPool { return count - pool }
        }
    }

    /// The kernel's names of the open sockets and pipes, without those to a sanitizer's program.
    static var channels: [String] { own.filter { $0.hasPrefix("socket:") || $0.hasPrefix("pipe:") }.sorted() }

    /// The kernel's names of what the open descriptors refer to, without those to a sanitizer's program.
    private static var own: [String] {
        let channels = allChildren.filter(isSymbolizer).flatMap { open(in: "\($0)").values }
            .filter { $0.hasPrefix("socket:") || $0.hasPrefix("pipe:") }
        // Dispatch opens a timer for each clock when that is first needed.
        return open.values.filter { !channels.contains($0) && $0 != "anon_inode:[timerfd]" }
    }

    /// The open descriptors, with the kernel's names of what they refer to.
    static var open: [CInt: String] { open(in: "self") }

    private static func open(in process: String) -> [CInt: String] {
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd")) ?? []
        return numbers.reduce(into: [:]) { open, number in
            let name = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/fd/\(number)")
            if let name, let number = CInt(number) { open[number] = name }
        }
    }

    /// The children that are not reaped, without a sanitizer's program.
    static var children: [Int32] { allChildren.filter { !isSymbolizer($0) } }

    private static var allChildren: [Int32] {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return threads.flatMap { thread in
            String(decoding: systemContents(of: "/proc/self/task/\(thread)/children"), as: UTF8.self)
                .split(whereSeparator: \.isWhitespace).compactMap { Int32($0) }
        }
    }

    /// Whether it is the symbolizer, which a sanitizer starts when it first needs the name of a function.
    private static func isSymbolizer(_ process: Int32) -> Bool {
        systemContents(of: "/proc/\(process)/comm") == Array("llvm-symbolizer\n".utf8)
    }

    #if canImport(Glibc)
        /// The pollers among the open descriptors that are the library's own: each listens for its wake under the
        /// number -1.
        ///
        /// Dispatch has a poller, too, once it needs a timer, and ends the process if it is closed.
        static var pollers: [CInt] {
            open.filter { $0.value == "anon_inode:[eventpoll]" }.keys.filter { number in
                String(decoding: systemContents(of: "/proc/self/fdinfo/\(number)"), as: UTF8.self)
                    .contains("data: ffffffffffffffff")
            }
        }

        /// Lets the process open descriptors again.
        static func allowDescriptors() { limitDescriptors { $0 } }

        /// Sets the limit of descriptors, from the most that it may be.
        private static func limitDescriptors(_ limit: (rlim_t) -> rlim_t) {
            var limits = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
            limits.rlim_cur = limit(limits.rlim_max)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        }

        /// Uses up the descriptors: every attempt to open one fails, even while others are being closed.
        ///
        /// - Parameter spare: How many stay free.
        static func exhaustDescriptors(leaving spare: Int = 0) {
            replaceDispatch()
            let free = (0..<spare).map { _ in dup(2) }
            // New ones would be below the limit, where only the standard ones are, or those that stay free.
            limitDescriptors { _ in rlim_t(max(3, (free.max() ?? 0) + 1)) }
            while dup(2) >= 0 {}
            for descriptor in free { close(descriptor) }
        }

        /// A number above those of all open descriptors, some of which come from the process that has launched this one.
        static func firstUnused(from number: CInt) -> CInt { max(number, (open.keys.max() ?? 0) + 1) }

        /// Limits the descriptors, and uses up those below a number: only the last ones are free.
        static func useDescriptors(below first: CInt, of limit: CInt) {
            replaceDispatch()
            limitDescriptors { _ in rlim_t(limit) }
            while true {
                let copy = dup(2)
                guard copy >= 0, copy < first else {
                    close(copy)
                    return
                }
            }
        }

        /// How many descriptors the process can still open.
        ///
        /// It opens none: Dispatch ends the process if it finds none for itself, even for a moment.
        static var free: Int {
            var limits = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
            return (0..<CInt(limits.rlim_cur)).count { fcntl($0, F_GETFD) < 0 }
        }

        /// Closes the sockets that this process has inherited from the one that runs all tests.
        ///
        /// How many there are depends on what runs at the same time. The testing library uses a pipe.
        static func closeInheritedSockets() {
            for (number, name) in open where number > 2 && name.hasPrefix("socket:") { Glibc.close(number) }
        }

        /// Has tasks and timers of this process need no more descriptors.
        static func replaceDispatch() {
            TaskThreads.replaceDispatch()
            let started = DispatchSemaphore(value: 0)
            // This thread may wait: tasks have threads of their own now.
            Task.detached {
                await startTimers()
                started.signal()
            }
            started.wait()
        }

        /// Makes Dispatch open its descriptors for timers, one for each clock.
        ///
        /// It opens each when it is first needed, for instance because more threads have work than there are processors, or
        /// a task sleeps, and ends the process if it cannot. A time that has passed already needs none, so this tries longer ones.
        static func startTimers() async {
            for time in (0..<10).map({ 1 << $0 }) {
                await withCheckedContinuation { fired in
                    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(time)) { fired.resume() }
                }
                await withCheckedContinuation { fired in
                    DispatchQueue.global().asyncAfter(wallDeadline: .now() + .milliseconds(time)) { fired.resume() }
                }
                try? await Task.sleep(for: .milliseconds(time), clock: .continuous)
                if timerClocks.isSuperset(of: [CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME]) { return }
            }
        }

        /// The clocks of the open timers.
        private static var timerClocks: Set<CInt> {
            let timers = open.filter { $0.value == "anon_inode:[timerfd]" }.keys
            return Set(
                timers.compactMap { number in
                    let text = String(decoding: systemContents(of: "/proc/self/fdinfo/\(number)"), as: UTF8.self)
                    let line = text.split(separator: "\n").first { $0.hasPrefix("clockid:") }
                    return line?.split(whereSeparator: \.isWhitespace).last.flatMap { CInt($0) }
                })
        }
    #endif

    /// How often memory to be shared is mapped in a process; nil: in this one.
    static func sharedMemory(of process: Int32? = nil) -> Int {
        let maps = systemContents(of: "/proc/\(process.map { "\($0)" } ?? "self")/maps")
        return String(decoding: maps, as: UTF8.self).split(separator: "\n").count { $0.contains("distant-objects") }
    }

    static var threads: Int { entries("/proc/self/task") }

    /// Bytes of address space.
    static var addressSpace: Int {
        guard let data = FileManager.default.contents(atPath: "/proc/self/statm") else { return 0 }
        return (String(decoding: data, as: UTF8.self).split(separator: " ").first.flatMap { Int($0) } ?? 0) * 4_096
    }

    private static func entries(_ path: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: path).count) ?? 0
    }
}
