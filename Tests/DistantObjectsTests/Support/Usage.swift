import Dispatch

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

/// What the whole process uses now: to be looked at in an exit test, where no other test runs.
enum Usage {
    /// Open descriptors, the one that lists them included.
    static var descriptors: Int { entries("/proc/self/fd") }

    /// The sockets and pipes among them, by the names the kernel gives, but for those to a sanitizer's program.
    static var channels: [String] {
        let foreign = Set(allChildren.filter(isSymbolizer).flatMap { open(in: "\($0)").values })
        return open.values.filter { ($0.hasPrefix("socket:") || $0.hasPrefix("pipe:")) && !foreign.contains($0) }
            .sorted()
    }

    /// The numbers of open descriptors, with the names the kernel gives what they stand for.
    static var open: [CInt: String] { open(in: "self") }

    private static func open(in process: String) -> [CInt: String] {
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd")) ?? []
        return numbers.reduce(into: [:]) { open, number in
            let name = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/fd/\(number)")
            if let name, let number = CInt(number) { open[number] = name }
        }
    }

    /// The children that have not been reaped, but for a sanitizer's program.
    static var children: [Int32] { allChildren.filter { !isSymbolizer($0) } }

    private static var allChildren: [Int32] {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return threads.flatMap { thread in
            String(decoding: systemContents(of: "/proc/self/task/\(thread)/children"), as: UTF8.self)
                .split(whereSeparator: \.isWhitespace).compactMap { Int32($0) }
        }
    }

    /// Whether it is the program that gives a sanitizer the names of functions, which it starts when it first needs one.
    private static func isSymbolizer(_ process: Int32) -> Bool {
        systemContents(of: "/proc/\(process)/comm") == Array("llvm-symbolizer\n".utf8)
    }

    #if canImport(Glibc)
        /// The pollers among the open descriptors that are the library's own: each listens for its wake under the number -1.
        ///
        /// Dispatch has one, too, once it needs a timer, and ends the process if that is closed.
        static var pollers: [CInt] {
            open.filter { $0.value == "anon_inode:[eventpoll]" }.keys.filter { number in
                String(decoding: systemContents(of: "/proc/self/fdinfo/\(number)"), as: UTF8.self)
                    .contains("data: ffffffffffffffff")
            }
        }

        /// Lets the process open descriptors again.
        static func allowDescriptors() {
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            limit.rlim_cur = limit.rlim_max
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        }

        /// Leaves the process no descriptor: every attempt to open one fails until something is closed.
        static func exhaustDescriptors() {
            startTimers()
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            limit.rlim_cur = rlim_t(open.keys.max() ?? 0) + 1
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            // What lies free below is taken.
            while dup(0) >= 0 {}
        }

        /// Has Dispatch open what it needs for timers.
        ///
        /// It does so when it needs one for the first time, for instance because more threads have work than there are
        /// processors, and ends the process if it cannot.
        static func startTimers() {
            let fired = DispatchSemaphore(value: 0)
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { fired.signal() }
            fired.wait()
        }
    #endif

    /// How often memory to be shared is mapped in a process; nil: in this one.
    static func sharedMemory(of process: Int32? = nil) -> Int {
        let maps = systemContents(of: "/proc/\(process.map { "\($0)" } ?? "self")/maps")
        return String(decoding: maps, as: UTF8.self).split(separator: "\n").count { $0.contains("distant-objects") }
    }

    static var threads: Int { entries("/proc/self/task") }

    /// Bytes of memory that are resident.
    static var memory: Int {
        guard let data = FileManager.default.contents(atPath: "/proc/self/statm") else { return 0 }
        let fields = String(decoding: data, as: UTF8.self).split(separator: " ")
        return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * 4_096
    }

    /// The most bytes that were ever resident.
    static var peak: Int {
        guard let data = FileManager.default.contents(atPath: "/proc/self/status") else { return 0 }
        let line = String(decoding: data, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 1_024
    }

    /// Bytes of address space.
    static var addressSpace: Int {
        guard let data = FileManager.default.contents(atPath: "/proc/self/statm") else { return 0 }
        return (String(decoding: data, as: UTF8.self).split(separator: " ").first.flatMap { Int($0) } ?? 0) * 4_096
    }

    private static func entries(_ path: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: path).count) ?? 0
    }
}
