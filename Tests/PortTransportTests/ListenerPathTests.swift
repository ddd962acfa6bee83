import CPortShims
import Synchronization
import TestSupport
import Testing

@testable import PortTransport

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

/// Which files a listener makes, trusts, replaces and removes.
@Suite("Files of listeners", .bounded())
struct ListenerPathTests {
    private static let heading = "Lock of a Distant Objects listener: do not remove it while the process runs\n"

    private static func write(_ text: String, _ path: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path))
    }

    private static func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func number(_ path: String) -> UInt64? {
        var status = stat()
        return lstat(path, &status) == 0 ? UInt64(status.st_ino) : nil
    }

    private static func mode(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
    }

    private static func names(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }

    private static func error(_ body: () throws -> SocketListener) -> TransportError? {
        do {
            try body().close()
            return nil
        } catch { return error as? TransportError }
    }

    @Test("A user's file beside the socket that has the name of the lock of earlier versions stays as it is")
    func userFile() throws {
        let folder = try TemporaryFolder()
        try Self.write("mine", folder.path("poetry.lock"))
        let listener = try SocketListener(path: folder.path("poetry"))
        #expect(try Self.names(folder.path) == [".poetry.distant-lock", "poetry", "poetry.lock"])
        listener.close()
        #expect(try Self.names(folder.path) == ["poetry.lock"])
        // Refused, because the path is that of a user's file, too.
        try Self.write("mine", folder.path("poetry"))
        #expect(Self.error { try SocketListener(path: folder.path("poetry")) }?.code == .wrongDescriptor)
        #expect(try Self.names(folder.path) == ["poetry", "poetry.lock"])
        for name in ["poetry", "poetry.lock"] { #expect(Self.text(folder.path(name)) == "mine") }
    }

    @Test("The lock says what it is and who has it, and only its owner can read it")
    func contentInListenerPath() throws {
        let folder = try TemporaryFolder()
        let listener = try SocketListener(path: folder.socket, version: 7)
        let lines = try #require(Self.text(folder.path(".s.distant-lock"))).split(separator: "\n")
        #expect("\(lines[0])\n" == Self.heading)
        #expect(lines[1] == "pid \(getpid())")
        #expect(lines[2].hasPrefix("program ") && lines[2].count > 8)
        #expect(lines[3] == "version 7" && lines.count == 4)
        #expect(Self.mode(folder.path(".s.distant-lock")) == 0o600 && Self.mode(folder.socket) == 0o600)
        listener.close()
    }

    @Test("A file that is no lock, in the place of one, is the reason for a refusal and stays as it is")
    func otherFile() throws {
        let folder = try TemporaryFolder()
        let lock = folder.path(".s.distant-lock")
        let target = folder.path("target")
        try Self.write(Self.heading, target)
        let others: [(name: String, make: () throws -> Void)] = [
            ("file", { try Self.write("mine", lock) }),
            ("empty file", { try Self.write("", lock) }),
            ("link to a lock", { symlink(target, lock) }),
            ("link to nothing", { symlink(folder.path("none"), lock) }),
            ("folder", { mkdir(lock, 0o700) }),
            ("pipe", { mkfifo(lock, 0o600) }),
            ("socket", { close(port_bind(lock, 0o600)) }),
        ]
        for (name, make) in others {
            try make()
            let before = (Self.number(lock), Self.text(lock), try Self.names(folder.path))
            let error = Self.error { try SocketListener(path: folder.socket) }
            #expect(error?.code == .wrongDescriptor && error?.message.contains(".s.distant-lock") == true, "\(name)")
            #expect(Self.number(lock) == before.0 && Self.text(lock) == before.1, "\(name)")
            #expect(try Self.names(folder.path) == before.2, "\(name)")
            remove(lock)
        }
        #expect(Self.text(target) == Self.heading)
        #expect(Self.error { try SocketListener(path: folder.socket) } == nil)
    }

    @Test("A lock of another user is the reason for a refusal", .enabled(if: geteuid() == 0))
    func otherUserInListenerPath() throws {
        let folder = try TemporaryFolder()
        let lock = folder.path(".s.distant-lock")
        try Self.write(Self.heading, lock)
        chown(lock, 4_711, 4_711)
        let error = Self.error { try SocketListener(path: folder.socket) }
        #expect(
            error?.code == .wrongDescriptor && error?.message.contains("user 4711") == true,
            "\(String(describing: error))")
        #expect(Self.text(lock) == Self.heading)
    }

    @Test("A lock that a killed process has left is taken, and names the new owner")
    func left() throws {
        let folder = try TemporaryFolder()
        let lock = folder.path(".s.distant-lock")
        try Self.write(Self.heading + "pid 99999999\nprogram " + String(repeating: "x", count: 600), lock)
        let number = Self.number(lock)
        let listener = try SocketListener(path: folder.socket)
        #expect(Self.number(lock) == number)
        #expect(Self.text(lock)?.hasPrefix(Self.heading + "pid \(getpid())\n") == true)
        #expect(Self.text(lock)?.contains("xxx") == false)
        listener.close()
        #expect(try Self.names(folder.path).isEmpty)
    }

    @Test("A refusal names the process that listens, also one that takes no lock")
    func holderInListenerPath() throws {
        let folder = try TemporaryFolder()
        let listener = try SocketListener(path: folder.socket)
        let taken = Self.error { try SocketListener(path: folder.socket) }
        #expect(taken?.code == .nameTaken && taken?.message.contains("this process") == true)
        listener.close()

        let foreign = port_bind(folder.socket, 0o600)
        #expect(port_listen(foreign, 8) == 0)
        let number = Self.number(folder.socket)
        let error = Self.error { try SocketListener(path: folder.socket) }
        #expect(error?.code == .nameTaken && error?.message.contains("process \(getpid())") == true)
        #expect(Self.number(folder.socket) == number)
        #expect(try Self.names(folder.path) == ["s"])
        close(foreign)
    }

    @Test("A lock whose text is damaged is taken by somebody all the same")
    func damagedText() throws {
        let folder = try TemporaryFolder()
        let lock = folder.path(".s.distant-lock")
        for text in ["", "pid", "pid \u{1B}[2J\n", "pid 99999999\nprogram a\u{1B}[2Jb\nversion 3\n"] {
            try Self.write(Self.heading + text, lock)
            let held = open(lock, O_RDWR | O_CLOEXEC)
            #expect(port_lock_file(held) == 0)
            let error = Self.error { try SocketListener(path: folder.socket) }
            #expect(error?.code == .nameTaken, "\(text)")
            #expect(error?.message.utf8.contains(0x1B) == false)
            if text.contains("program") {
                #expect(error?.message.contains("process 99999999 (a?[2Jb, version 3)") == true)
            }
            // A program that another test starts meanwhile may hold the lock of this file for a moment longer.
            close(held)
            unlink(lock)
        }
    }

    #if os(Linux)
        @Test("A process that is gone and not reaped is not waited for")
        func zombie() async {
            await #expect(processExitsWith: .success) {
                let (child, _) = try ChildProcess.launch("/bin/sleep", arguments: ["100000"])
                #expect(!SystemProcesses.isEnding(child.pid) && !SystemProcesses.isEnding(getpid()))
                var pid: pid_t = 0
                var words: [UnsafeMutablePointer<CChar>?] = [strdup("/bin/true"), nil]
                try #require(posix_spawn(&pid, "/bin/true", nil, nil, &words, environ) == 0)
                var status: Int32 = 0
                while port_process_look(pid, &status) == 0 { usleep(1_000) }
                #expect(!SystemProcesses.isEnding(pid))
                #expect(port_process_reap(pid, &status) == 1 && SystemProcesses.isEnding(pid))
                child.kill()
                _ = await child.waitForExit()
            }
        }
    #endif

    @Test("The current directory may change while a listener at a relative path is open")
    func changeOfDirectory() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            let (a, b) = (folder.path("a"), folder.path("b"))
            for path in [a, b] { try #require(mkdir(path, 0o700) == 0) }
            chdir(b)
            let other = try SocketListener(path: "rel.sock")
            chdir(a)
            let first = try SocketListener(path: "./rel.sock")
            chdir(b)
            _ = try ChannelEndpoint.connect(path: first.path)
            first.close()
            #expect(try Self.names(a).isEmpty)
            #expect(try Self.names(b) == [".rel.sock.distant-lock", "rel.sock"])
            #expect(Self.error { try SocketListener(path: "\(b)/rel.sock") }?.code == .nameTaken)
            #expect(other.path.hasPrefix("/") && other.path.hasSuffix("/b/rel.sock"))
            other.close()
            #expect(try Self.names(b).isEmpty)
        }
    }

    @Test("A current directory whose name is not UTF-8 does")
    func nameOfDirectory() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            let name: [CChar] = Array("\(folder.path)/".utf8CString.dropLast()) + [-1, -2, 0]
            try #require(mkdir(name, 0o700) == 0 && chdir(name) == 0)
            let listener = try SocketListener(path: "s")
            _ = try ChannelEndpoint.connect(path: "s")
            #expect(try Self.names(".") == [".s.distant-lock", "s"])
            chdir("/")
            listener.close()
            // It can be removed, so nothing is left in it.
            #expect(rmdir(name) == 0)
        }
    }

    @Test("Whatever the umask, the lock can be opened again after its process was killed")
    func mask() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            umask(0o777)
            let listener = try SocketListener(path: folder.socket)
            #expect(Self.mode(folder.path(".s.distant-lock")) == 0o600 && Self.mode(folder.socket) == 0o600)
            listener.close()
        }
    }

    @Test("Files that have come in the place of a listener's are not removed")
    func replacedInListenerPath() throws {
        let folder = try TemporaryFolder()
        let lock = folder.path(".s.distant-lock")
        let listener = try SocketListener(path: folder.socket)
        unlink(folder.socket)
        unlink(lock)
        try Self.write("mine", folder.socket)
        try Self.write("mine", lock)
        listener.close()
        #expect(Self.text(folder.socket) == "mine" && Self.text(lock) == "mine")
    }

    @Test("A listener whose folder was moved removes its own files, and none of the folder in its place")
    func movedFolder() throws {
        let folder = try TemporaryFolder()
        let (old, new) = (folder.path("old"), folder.path("new"))
        mkdir(old, 0o700)
        let listener = try SocketListener(path: "\(old)/s")
        rename(old, new)
        mkdir(old, 0o700)
        let second = try SocketListener(path: "\(old)/s")
        listener.close()
        #expect(try Self.names(new).isEmpty)
        #expect(try Self.names(old) == [".s.distant-lock", "s"])
        second.close()
    }

    @Test("A path that has room for the socket's name only just works, and one without a name does not")
    func longPath() throws {
        let folder = try TemporaryFolder()
        let deep = folder.path(String(repeating: "d", count: Int(port_longest_path()) - folder.path.utf8.count - 3))
        mkdir(deep, 0o700)
        let path = "\(deep)/s"
        #expect(path.utf8.count == Int(port_longest_path()))
        // A stale one has to be tried, too.
        close(port_bind(path, 0o600))
        let listener = try SocketListener(path: path)
        _ = try ChannelEndpoint.connect(path: path)
        #expect(try Self.names(deep) == [".s.distant-lock", "s"])
        listener.close()
        #expect(try Self.names(deep).isEmpty)
        for name in ["", ".", ".."] {
            #expect(Self.error { try SocketListener(path: folder.path(name)) }?.code == .wrongDescriptor)
        }
    }

    @Test("When a listener takes the place of a dead one, no client that finds its socket is refused")
    func noGap() async throws {
        let folder = try TemporaryFolder()
        let path = folder.socket
        for round in 0..<200 {
            close(port_bind(path, 0o600))
            let stale = Self.number(path)
            let started = Mutex(false)
            async let outcome = onPlainThread { () -> CInt in
                while true {
                    started.withLock { $0 = true }
                    let found = Self.number(path)
                    guard found != stale else { continue }
                    let client = port_connect(path)
                    guard client >= 0 else { return errno }
                    close(client)
                    return found == nil ? ENOENT : 0
                }
            }
            while !started.withLock({ $0 }) { await Task.yield() }
            let listener = try SocketListener(path: path)
            let number = await outcome
            #expect(number == 0, "round \(round)")
            listener.close()
        }
    }

    @Test(
        "A listener that cannot be made leaves nothing",
        .enabled(if: FileManager.default.fileExists(atPath: "/proc/self")))
    func nothingLeft() throws {
        let folder = try TemporaryFolder()
        // The folder of a process takes no files.
        #expect(Self.error { try SocketListener(path: "/proc/self/s") }?.description.contains("/proc/self/s") == true)
        mkdir(folder.path("d"), 0o700)
        #expect(Self.error { try SocketListener(path: folder.path("d")) }?.code == .wrongDescriptor)
        #expect(try Self.names(folder.path) == ["d"])
    }
}
