internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The processes that hold the lock of a socket, as Linux shows them in `/proc`.
enum LockHolders {
    /// Kills the programs of this user that were started with the lock of a socket, and hold it.
    ///
    /// Each is found by the lock that its descriptor holds and by the variable with which it was started, so no process is hit that only
    /// looks at the file, and none that listens in its own right. A program that hides its variables is not found.
    ///
    /// - Parameter starter: The process that has started the program, which may have the lock, too.
    /// - Returns: Whether there was one; always false where the system does not show it.
    /// - Complexity: O(*n*) in the number of descriptors of all processes of the user.
    static func endStarted(_ socket: String, in folder: SocketFolder, by starter: pid_t) -> Bool {
        #if canImport(Glibc)
            guard let file = folder.file(named: ListenerLock.name(of: socket)) else { return false }
            var hasEnded = false
            for pid in names("/proc").compactMap({ pid_t($0) }) where pid != getpid() && pid != starter {
                // The number of the process may be another's as soon as it has ended; its descriptor is not.
                let process = port_process_descriptor(pid)
                guard process >= 0 else { continue }
                defer { port_close(process) }
                if wasStarted(pid), holds(pid, file.identity), port_process_signal(pid, process, SIGKILL) == 0 {
                    hasEnded = true
                }
            }
            return hasEnded
        #else
            return false
        #endif
    }

    /// Whether a process is about to end, or is gone, so that what it holds is about to be released.
    ///
    /// The system closes the descriptors of a process that was killed one by one, and others see the end of its connections before the
    /// end of its lock.
    static func isEnding(_ pid: pid_t) -> Bool {
        #if canImport(Glibc)
            let stat = content("/proc/\(pid)/stat")
            // The name of the program, in parentheses, may contain any.
            guard let name = stat.lastIndex(of: UInt8(ascii: ")")) else { return kill(pid, 0) != 0 && errno == ESRCH }
            let fields = stat[(name + 1)...].split(separator: UInt8(ascii: " "))
            guard fields.count > 17, let flags = UInt32(String(decoding: fields[6], as: UTF8.self)) else {
                return false
            }
            // A zombie has closed everything, unless another of its threads is still ending.
            let isZombie = fields[0].first == UInt8(ascii: "Z") && fields[17].elementsEqual("1".utf8)
            // The kernel's PF_EXITING.
            return flags & 4 != 0 && !isZombie
        #else
            return kill(pid, 0) != 0 && errno == ESRCH
        #endif
    }

    #if canImport(Glibc)
        private static func wasStarted(_ pid: pid_t) -> Bool {
            let start = "\(ChildProcess.descriptorsVariable)="
            return content("/proc/\(pid)/environ").split(separator: 0).contains { variable in
                variable.starts(with: start.utf8)
                    && variable.split(separator: UInt8(ascii: ":")).contains {
                        $0.elementsEqual(ListenerLock.passedName.utf8)
                    }
            }
        }

        private static func holds(_ pid: pid_t, _ file: SocketFolder.Identity) -> Bool {
            names("/proc/\(pid)/fd").contains { number in
                var status = stat()
                guard stat("/proc/\(pid)/fd/\(number)", &status) == 0,
                    SocketFolder.Identity(device: UInt64(status.st_dev), number: UInt64(status.st_ino)) == file
                else { return false }
                return content("/proc/\(pid)/fdinfo/\(number)").split(separator: UInt8(ascii: "\n")).contains {
                    $0.starts(with: "lock:".utf8)
                }
            }
        }

        private static func names(_ folder: String) -> [String] {
            guard let stream = opendir(folder) else { return [] }
            defer { closedir(stream) }
            var names: [String] = []
            while let entry = readdir(stream) {
                names.append(
                    withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
                )
            }
            return names
        }

        private static func content(_ path: String) -> [UInt8] {
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
    #endif
}
