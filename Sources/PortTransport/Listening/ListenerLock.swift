internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The lock of a listener's path: the file `.NAME.distant-lock` beside the socket `NAME`.
///
/// The kernel releases the lock when the process ends, in whatever way. So the path of a process that was killed is free,
/// and process numbers decide nothing. The file says what it is and who has it:
///
///     Lock of a Distant Objects listener: do not remove it while the process runs
///     pid 4711
///     program FooBarServer
///     version 1
///
/// A file that does not begin with the first line, or belongs to another user, was not made by a listener of this user: it is
/// neither taken, changed nor removed. The file appears complete, so a crash leaves none without that line.
///
/// A process that starts a listener's program takes the lock for it, and passes it on (`ServiceStart`). Until the program has made it its
/// own, the file names the process that starts it, and ends with a line `starting` and the milliseconds that this may take.
struct ListenerLock {
    /// Which process has a lock, for people; the kernel decides who has it.
    struct Holder: CustomStringConvertible {
        let pid: Int32
        let program: String
        let version: String
        /// How long the program may take that the process has started, and that has not made the lock its own yet; nil if there is none.
        let startLimit: Duration?

        var description: String { "process \(pid) (\(program), version \(version))" }
    }

    /// What a lock is taken for.
    enum Purpose {
        case listening
        /// To be passed to a program that is going to listen within a time.
        case starting(Duration)

        var isListening: Bool { if case .listening = self { true } else { false } }
    }

    /// The name of the lock among the descriptors of a program that is started for a path.
    static let passedName = "distant.lock"

    private static let heading = "Lock of a Distant Objects listener: do not remove it while the process runs\n"
    /// Only the beginning of a file is read.
    private static let longest = 1_024

    private let folder: SocketFolder
    private let name: String
    let descriptor: CInt
    private let identity: SocketFolder.Identity
    /// Whether it was made now, and not left by a process that was killed.
    private let isNew: Bool

    /// Takes the lock.
    ///
    /// - Parameters:
    ///   - socket: The name of the socket.
    ///   - path: Its path, for errors.
    ///   - version: The version of this side, for other processes.
    ///   - purpose: For listening, a lock that this process was started with is taken over.
    /// - Throws: `nameTaken` if another listener has it; `wrongDescriptor` if another file is in its place; `system`.
    init(
        of socket: String, in folder: SocketFolder, path: String, version: UInt64, for purpose: Purpose = .listening
    ) throws(TransportError) {
        let name = Self.name(of: socket)
        let content = Self.content(version, purpose)
        while true {
            if let found = folder.file(named: name) {
                let own = purpose.isListening ? Self.passed.take(found.identity) : nil
                let descriptor: CInt
                if let own {
                    descriptor = own
                } else if let opened = try Self.open(name, found, in: folder, path) {
                    descriptor = opened
                } else {
                    continue
                }
                // Its owner may have removed it meanwhile: then the lock is of no name.
                if folder.file(named: name)?.identity == found.identity {
                    guard Self.write(content, to: descriptor) else {
                        let number = errno
                        port_close(descriptor)
                        throw Self.failure(path, number)
                    }
                    self.init(folder, name, descriptor, found.identity, isNew: false)
                    return
                }
                port_close(descriptor)
            } else if let (descriptor, identity) = try Self.make(name, content, in: folder, path) {
                self.init(folder, name, descriptor, identity, isNew: true)
                return
            }
        }
    }

    private init(
        _ folder: SocketFolder, _ name: String, _ descriptor: CInt, _ identity: SocketFolder.Identity, isNew: Bool
    ) {
        self.folder = folder
        self.name = name
        self.descriptor = descriptor
        self.identity = identity
        self.isNew = isNew
    }

    /// Opens and locks a file that exists.
    ///
    /// - Returns: Nil if it was removed meanwhile.
    private static func open(
        _ name: String, _ found: SocketFolder.File, in folder: SocketFolder, _ path: String
    ) throws(TransportError) -> CInt? {
        func other(_ reason: String) -> TransportError {
            TransportError(
                .wrongDescriptor,
                "the lock would be the file \(name) beside it, which exists and \(reason); it is left alone",
                context: [path])
        }
        guard found.owner == geteuid() else { throw other("belongs to user \(found.owner)") }
        guard found.isRegular else { throw other("is no ordinary file") }
        let descriptor = port_open_file_at(folder.descriptor, name)
        guard descriptor >= 0 else {
            let number = errno
            if number == ENOENT { return nil }
            guard number != EMFILE, number != ENFILE, number != ENOMEM else { throw failure(path, number) }
            throw other("cannot be opened: \(TransportError.reason(number))")
        }
        do throws(TransportError) {
            guard SocketFolder.file(behind: descriptor)?.identity == found.identity else {
                port_close(descriptor)
                return nil
            }
            guard isLock(read(descriptor)) else { throw other("is not the lock of a listener") }
            guard lock(descriptor) else {
                let number = errno
                guard number == EWOULDBLOCK else { throw failure(path, number) }
                throw taken(path, read(descriptor))
            }
            return descriptor
        } catch {
            port_close(descriptor)
            throw error
        }
    }

    /// Takes the lock of a file.
    ///
    /// Blocks while the process that has it is ending, but no longer than about a second.
    ///
    /// - Returns: False if another process has it, with `errno`.
    private static func lock(_ descriptor: CInt) -> Bool {
        for _ in 0..<1_000 {
            if port_lock_file(descriptor) == 0 { return true }
            let number = errno
            guard number == EWOULDBLOCK, let holder = holder(read(descriptor)), holder.pid != getpid(),
                SystemProcesses.isEnding(holder.pid)
            else {
                errno = number
                return false
            }
            // Others that hold it may live, if the process is gone.
            if kill(holder.pid, 0) != 0 { return port_lock_file(descriptor) == 0 }
            port_thread_sleep(1_000_000)
        }
        errno = EWOULDBLOCK
        return false
    }

    /// Makes the file, complete and locked.
    ///
    /// - Returns: Nil if another process has made one meanwhile.
    private static func make(
        _ name: String, _ content: [UInt8], in folder: SocketFolder, _ path: String
    ) throws(TransportError) -> (CInt, SocketFolder.Identity)? {
        let made = folder.makeUnnamed { port_make_file_at(folder.descriptor, $0) }
        guard made.descriptor >= 0 else { throw failure(path, errno) }
        let identity = SocketFolder.file(behind: made.descriptor)?.identity
        guard let identity, port_lock_file(made.descriptor) == 0, write(content, to: made.descriptor),
            port_rename_new_at(folder.descriptor, made.name, name) == 0
        else {
            let number = errno
            if let identity { folder.remove(made.name, identity) }
            port_close(made.descriptor)
            if number == EEXIST { return nil }
            throw failure(path, number)
        }
        return (made.descriptor, identity)
    }

    /// Gives the lock back and removes its file, if it is still the one that was locked.
    func release() {
        // Removed while the lock is held, so that a later owner's file is never removed.
        folder.remove(name, identity)
        port_close(descriptor)
    }

    /// Gives the lock back after a refusal: a file that was there before stays.
    func giveUp() {
        if isNew { folder.remove(name, identity) }
        port_close(descriptor)
    }

    /// Closes the descriptor and leaves the file, which belongs to the process that this one was forked from.
    func abandon() { port_close(descriptor) }

    /// Closes the descriptor of a lock that another process has got, and goes on holding.
    func passedOn() { port_close(descriptor) }

    // MARK: A lock that another process has taken for this one

    /// The lock that this process was started with, until a listener takes it over.
    private final class PassedLock: @unchecked Sendable {  // `lock` protects `kept`.
        private let lock = Lock()
        private var kept: (descriptor: CInt, identity: SocketFolder.Identity)?

        deinit { lock.destroy() }

        /// Returns the lock if it is of that file.
        func take(_ identity: SocketFolder.Identity) -> CInt? {
            lock.withLock {
                if let descriptor = ChildProcess.passedDescriptors.take(named: ListenerLock.passedName).0?.descriptor,
                    let file = SocketFolder.file(behind: descriptor)
                {
                    // A lock that another process has was not passed to this one, whatever the environment says.
                    if port_lock_file(descriptor) == 0 {
                        kept = (descriptor, file.identity)
                    } else {
                        port_close(descriptor)
                    }
                }
                guard let kept, kept.identity == identity else { return nil }
                self.kept = nil
                return kept.descriptor
            }
        }
    }

    private static let passed = PassedLock()

    // MARK: Looking at locks

    /// The name of the file that is the lock of a socket.
    static func name(of socket: String) -> String { ".\(socket)\(ending)" }

    private static let ending = ".distant-lock"

    /// The name of the socket whose lock a file is, by its name.
    static func socket(ofLockNamed name: String) -> String? {
        guard name.hasPrefix("."), name.hasSuffix(ending), name.utf8.count > ending.utf8.count + 1 else { return nil }
        return String(name.dropFirst().dropLast(ending.utf8.count))
    }

    /// Who has or had the lock of a socket, and whether it is held now; the lock is not taken.
    ///
    /// - Returns: Nil if there is no lock of this user.
    static func look(at socket: String, in folder: SocketFolder) -> (holder: Holder?, isHeld: Bool)? {
        let name = name(of: socket)
        guard let found = folder.file(named: name), found.owner == geteuid(), found.isRegular else { return nil }
        let descriptor = port_open_file_at(folder.descriptor, name)
        guard descriptor >= 0 else { return nil }
        defer { port_close(descriptor) }
        let text = read(descriptor)
        guard isLock(text) else { return nil }
        return (holder(text), port_is_locked(descriptor) == 1)
    }

    // MARK: Content

    private static func content(_ version: UInt64, _ purpose: Purpose) -> [UInt8] {
        let program = OwnProgram.name.map { $0 < 32 || $0 == 127 ? UInt8(ascii: "?") : $0 }
        let end =
            switch purpose {
            case .listening: "\nversion \(version)\n"
            case .starting(let limit): "\nversion \(version)\nstarting \(limit.nanoseconds / 1_000_000)\n"
            }
        return Array("\(heading)pid \(getpid())\nprogram ".utf8) + program + Array(end.utf8)
    }

    private static func write(_ content: [UInt8], to descriptor: CInt) -> Bool {
        port_write_content(descriptor, content, content.count) == 0
    }

    private static func read(_ descriptor: CInt) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: longest)
        return Array(bytes[..<max(0, Int(port_read_content(descriptor, &bytes, longest)))])
    }

    private static func isLock(_ text: [UInt8]) -> Bool { text.starts(with: heading.utf8) }

    private static func holder(_ text: [UInt8]) -> Holder? {
        guard isLock(text) else { return nil }
        var values: [String: String] = [:]
        for line in text.dropFirst(heading.utf8.count).split(separator: UInt8(ascii: "\n")) {
            let words = line.split(separator: UInt8(ascii: " "), maxSplits: 1)
            guard words.count == 2 else { continue }
            values[String(decoding: words[0], as: UTF8.self)] = PlainText.line(
                String(decoding: words[1], as: UTF8.self))
        }
        guard let pid = values["pid"].flatMap({ Int32($0) }), pid > 0 else { return nil }
        return Holder(
            pid: pid, program: values["program"] ?? "unknown", version: values["version"] ?? "unknown",
            startLimit: values["starting"].flatMap { UInt32($0) }.map { .milliseconds($0) })
    }

    private static func taken(_ path: String, _ text: [UInt8]) -> TransportError {
        guard let holder = holder(text) else { return .taken(path) }
        if holder.pid == getpid() { return .taken(path, by: "this process") }
        // The process that takes a lock left by another one writes its name a moment later; processes of other namespaces
        // have no number here.
        let isHere = kill(holder.pid, 0) == 0 || errno != ESRCH
        return .taken(path, by: isHere ? "\(holder)" : "its lock names \(holder), which does not run here")
    }

    private static func failure(_ path: String, _ number: CInt) -> TransportError {
        .system("locking", number, context: [path])
    }
}

extension TransportError {
    /// The refusal of a path, or of the name of a service, that another listener has.
    static func taken(_ path: String, by holder: String? = nil) -> TransportError {
        let end = holder.map { ": \($0)" } ?? ""
        let what = path.contains("/") ? "path" : "name"
        return TransportError(.nameTaken, "another listener has this \(what)\(end)", context: [path])
    }
}
