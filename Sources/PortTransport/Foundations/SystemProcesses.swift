internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// What Linux shows of processes in `/proc`; elsewhere nothing.
enum SystemProcesses {
    /// The fields of a process that follow its name in `/proc/PID/stat`; empty if the process is gone.
    ///
    /// The first one is the state.
    static func fields(_ pid: pid_t) -> [ArraySlice<UInt8>] {
        let stat = content("/proc/\(pid)/stat")
        // The name of the program, in parentheses, may contain any.
        guard let name = stat.lastIndex(of: UInt8(ascii: ")")) else { return [] }
        return stat[(name + 1)...].split(separator: UInt8(ascii: " "))
    }

    /// Whether a process is about to end, or is gone, so that what it holds is about to be released.
    ///
    /// The system closes the descriptors of a process that was killed one by one, and others see the end of its connections before the
    /// end of its lock.
    static func isEnding(_ pid: pid_t) -> Bool {
        #if canImport(Glibc)
            let fields = fields(pid)
            guard !fields.isEmpty else { return kill(pid, 0) != 0 && errno == ESRCH }
            guard fields.count > 17, let flags = UInt32(String(decoding: fields[6], as: UTF8.self)) else {
                return false
            }
            // A zombie has closed everything, unless another of its threads is still ending.
            let isZombie = isZombie(fields) && fields[17].elementsEqual("1".utf8)
            // The kernel's PF_EXITING.
            return flags & 4 != 0 && !isZombie
        #else
            return kill(pid, 0) != 0 && errno == ESRCH
        #endif
    }

    static func isZombie(_ fields: [ArraySlice<UInt8>]) -> Bool { fields.first?.first == UInt8(ascii: "Z") }

    /// The numbers of all processes.
    static var all: [pid_t] { names("/proc").compactMap { pid_t($0) } }

    /// The variables with which a process was started, each as `NAME=VALUE`; empty if it hides them.
    static func variables(_ pid: pid_t) -> [ArraySlice<UInt8>] { content("/proc/\(pid)/environ").split(separator: 0) }

    static func names(_ folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            names.append(
                withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
        }
        return names
    }

    static func content(_ path: String) -> [UInt8] {
        let file = port_open_file(path)
        guard file >= 0 else { return [] }
        defer { port_close(file) }
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        // An environment has 2 MiB at most on most systems.
        while content.count < 8 << 20 {
            let count = read(file, &buffer, buffer.count)
            guard count > 0 else { break }
            content += buffer[..<count]
        }
        return content
    }
}
