import DistantObjects

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A root that ends its process in the ways that a supervisor has to deal with.
final class Crasher: Vendable {
    static var messages: MessageTable<Crasher> {
        Message("pid") { _ in { getpid() } }
        Message("echo") { _ in { (bytes: [UInt8]) in bytes } }
        Message("die") { crasher in { (signal: Int32) -> Void in crasher.die(signal) } }
        Message("leave", Crasher.leave)
        Message("cut") { _ in { Connection.current?.invalidate() } }
        Message("say", Crasher.say)
        Message("note", Crasher.note)
        Message("sleeper", Crasher.sleeper)
        Message("wanderer", Crasher.wanderer)
        Message("descriptors", Crasher.descriptors)
        Message("variable", Crasher.variable)
        Message("write", Crasher.fill)
    }

    /// Ends the process by a signal.
    func die(_ signal: Int32) -> Never {
        kill(getpid(), signal)
        // Another thread may take the signal.
        while true { pause() }
    }

    /// Ends the process with a status.
    func leave(_ status: Int32) { exit(status) }

    /// Writes a line to standard error, and one to standard output.
    func say(_ text: String) {
        for (descriptor, line) in [(1 as CInt, "out \(text)\n"), (2, "err \(text)\n")] {
            _ = line.withCString { write(descriptor, $0, strlen($0)) }
        }
    }

    /// Adds a line to a file, and then ends the process by a signal if there is one.
    func note(_ line: String, _ path: String, _ signal: Int32) throws -> String {
        let file = try SystemError.check(open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600))
        let text = "\(line)\n"
        _ = text.withCString { write(file, $0, strlen($0)) }
        close(file)
        if signal != 0 { die(signal) }
        return line
    }

    /// Starts a program that does not end, in the same process group.
    func sleeper() throws -> Int32 { try start("/bin/sleep", ["100000"]) }

    /// Starts a program that leaves the process group, and does not end.
    func wanderer() throws -> Int32 { try start("/usr/bin/setsid", ["sleep", "100000"]) }

    private func start(_ path: String, _ arguments: [String]) throws -> Int32 {
        let null = try SystemError.check(open("/dev/null", O_RDWR | O_CLOEXEC))
        defer { close(null) }
        return try Program(
            path: path, arguments: arguments, descriptors: [(null, 0), (null, 1), (null, 2)]
        ).start()
    }

    /// The numbers of the open descriptors below a bound that are not close-on-exec, which this process has inherited.
    func descriptors(_ bound: Int32) -> [Int32] {
        (0..<bound).filter { number in
            let flags = fcntl(number, F_GETFD)
            return flags >= 0 && flags & FD_CLOEXEC == 0
        }
    }

    /// Writes to a descriptor that this process was given under a name, and closes it.
    ///
    /// - Returns: Its number.
    func fill(_ bytes: [UInt8], _ name: String) throws -> Int32 {
        let descriptor = try ChildProcess.takeDescriptor(named: name)
        defer { close(descriptor) }
        guard fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0 else { throw SystemError(number: 0) }
        let written = write(descriptor, bytes, bytes.count)
        guard written == bytes.count else { throw SystemError(number: errno) }
        return descriptor
    }

    func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
