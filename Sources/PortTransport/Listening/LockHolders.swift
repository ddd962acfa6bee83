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
            for pid in SystemProcesses.all where pid != getpid() && pid != starter {
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

    #if canImport(Glibc)
        private static func wasStarted(_ pid: pid_t) -> Bool {
            let start = "\(ChildProcess.descriptorsVariable)="
            return SystemProcesses.variables(pid).contains { variable in
                variable.starts(with: start.utf8)
                    && variable.split(separator: UInt8(ascii: ":")).contains {
                        $0.elementsEqual(ListenerLock.passedName.utf8)
                    }
            }
        }

        private static func holds(_ pid: pid_t, _ file: SocketFolder.Identity) -> Bool {
            SystemProcesses.names("/proc/\(pid)/fd").contains { number in
                var status = stat()
                guard stat("/proc/\(pid)/fd/\(number)", &status) == 0,
                    SocketFolder.Identity(device: UInt64(status.st_dev), number: UInt64(status.st_ino)) == file
                else { return false }
                return SystemProcesses.content("/proc/\(pid)/fdinfo/\(number)").split(separator: UInt8(ascii: "\n"))
                    .contains {
                        $0.starts(with: "lock:".utf8)
                    }
            }
        }
    #endif
}
