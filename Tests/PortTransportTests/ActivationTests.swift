import CPortShims
import Synchronization
import TestSupport
import Testing

@testable import PortTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The environment and the descriptors are the process's, so each test has a process of its own.
@Suite("Sockets passed by a service manager", .bounded())
struct ActivationTests {
    private static let variables = ["LISTEN_PID", "LISTEN_PIDFDID", "LISTEN_FDS", "LISTEN_FDNAMES"]

    /// Descriptors in a row, which stand for those from 3 on.
    private static func pass(
        _ descriptors: [CInt], at first: CInt, names: String?, pid: pid_t = getpid(), count: Int? = nil
    ) {
        for (index, descriptor) in descriptors.enumerated() {
            dup2(descriptor, first + CInt(index))
            close(descriptor)
        }
        setenv("LISTEN_PID", "\(pid)", 1)
        setenv("LISTEN_FDS", "\(count ?? descriptors.count)", 1)
        if let names { setenv("LISTEN_FDNAMES", names, 1) }
    }

    /// A number below the greatest by so much, where no other descriptors come.
    private static func unused(_ distance: CInt) -> CInt {
        min(getdtablesize(), 1 << 20) - distance
    }

    private static func bound(_ path: String) -> CInt {
        let descriptor = port_bind(path, 0o600)
        #expect(port_listen(descriptor, 8) == 0)
        return descriptor
    }

    private static func expectUnset() {
        for variable in variables { #expect(getenv(variable) == nil) }
    }

    private static func listening(_ sockets: ActivationSockets, _ name: String?) -> TransportError.Code? {
        code { _ = try sockets.takeListening(named: name) }
    }

    private static func code(_ body: () throws -> Void) -> TransportError.Code? {
        do {
            try body()
        } catch let error as TransportError {
            #expect(!error.message.isEmpty)
            return error.code
        } catch {
            Issue.record("\(error)")
        }
        return nil
    }

    @Test("They are found by name or in order, once each, and no program started from here finds them")
    func found() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            let first = Self.unused(100)
            Self.pass(["a", "b", "c"].map { Self.bound(folder.path($0)) }, at: first, names: "one:two:three")
            let sockets = ActivationSockets(first: first)
            let two = try sockets.takeListening(named: "two")
            #expect(two.descriptor == first + 1)
            Self.expectUnset()
            for index in 0..<3 { #expect(fcntl(first + CInt(index), F_GETFD) & FD_CLOEXEC != 0) }
            #expect(try sockets.takeListening(named: nil).name == "one")
            #expect(Self.listening(sockets, "two") == .notActivated)
            #expect(try sockets.takeListening(named: nil).name == "three")
            #expect(Self.listening(sockets, nil) == .notActivated)
        }
    }

    @Test("What was meant for another process, or names too many, is not taken")
    func foreignInActivation() async {
        await #expect(processExitsWith: .success) {
            // Beyond what can be open: whatever count is believed, nothing is there.
            let first = Self.unused(0)
            setenv("LISTEN_PID", "1", 1)
            setenv("LISTEN_FDS", "2", 1)
            #expect(Self.listening(ActivationSockets(first: first), nil) == .notActivated)
            Self.expectUnset()
            for count in ["-1", "0", "x", "2000000000", "99999999999999999999"] {
                setenv("LISTEN_PID", "\(getpid())", 1)
                setenv("LISTEN_FDS", count, 1)
                #expect(Self.listening(ActivationSockets(first: first), nil) == .notActivated)
            }
            #expect(Self.listening(ActivationSockets(first: first), "x") == .notActivated)
        }
    }

    @Test(
        "A process number that was used before is told from this process by the number of its descriptor",
        .enabled(if: numberOfThis != nil))
    func numberOfProcess() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            let own = try #require(Self.numberOfThis)
            for (number, code) in [
                ("\(own)", nil), ("\(own + 1)", TransportError.Code.notActivated), ("x", .notActivated),
            ] {
                let first = Self.unused(100)
                Self.pass([Self.bound(folder.path(number))], at: first, names: nil)
                setenv("LISTEN_PIDFDID", number, 1)
                #expect(Self.listening(ActivationSockets(first: first), nil) == code, "\(number)")
                Self.expectUnset()
            }
        }
    }

    /// What the system calls this process among its descriptors of processes; nil where they have no numbers of their own.
    private static var numberOfThis: UInt64? {
        func number(_ pid: pid_t) -> UInt64? {
            let descriptor = port_process_descriptor(pid)
            defer { if descriptor >= 0 { close(descriptor) } }
            return SocketFolder.file(behind: descriptor)?.identity.number
        }
        guard let own = number(getpid()), let other = number(getppid()), own != other else { return nil }
        return own
    }

    @Test("A descriptor that this process has opened itself is not taken for a passed one")
    func ownDescriptor() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            let first = Self.unused(100)
            Self.pass([Self.bound(folder.socket)], at: first, names: nil)
            // What a program opens is close-on-exec, and what it was passed is not.
            #expect(fcntl(first, F_SETFD, FD_CLOEXEC) == 0)
            #expect(Self.listening(ActivationSockets(first: first), nil) == .notActivated)
            #expect(fcntl(first, F_GETFD) >= 0)
        }
    }

    @Test("A pipe, a socket that does not listen and one of datagrams are wrong, by name")
    func wrongKind() async {
        await #expect(processExitsWith: .success) {
            let first = Self.unused(50)
            var pipes: [CInt] = [-1, -1]
            #expect(pipe(&pipes) == 0)
            let (one, _) = try ChannelEndpoint.socketPairDescriptors()
            var datagrams: [CInt] = [-1, -1]
            #if canImport(Glibc)
                let kind = CInt(SOCK_DGRAM.rawValue)
            #else
                let kind = SOCK_DGRAM
            #endif
            #expect(socketpair(AF_UNIX, kind, 0, &datagrams) == 0)
            Self.pass([pipes[0], one, datagrams[0]], at: first, names: nil)
            let sockets = ActivationSockets(first: first)
            for _ in 0..<3 { #expect(Self.listening(sockets, nil) == .wrongDescriptor) }
            #expect(Self.listening(sockets, nil) == .notActivated)
        }
    }

    @Test("A connected socket is what a process gets that serves one connection, and a listening one is not")
    func connected() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            let first = Self.unused(50)
            let (one, _) = try ChannelEndpoint.socketPairDescriptors()
            Self.pass([Self.bound(folder.socket), one], at: first, names: "listening:connected")
            let sockets = ActivationSockets(first: first)
            #expect(Self.code { _ = try sockets.takeConnected(named: "listening") } == .wrongDescriptor)
            #expect(try sockets.takeConnected(named: "connected").descriptor == first + 1)
        }
    }
}

/// A listener that stops without losing a connection.
@Suite("The last connections of a listener", .bounded())
struct LastConnectionTests {
    @Test("When a listener stops, it accepts the clients that wait in the kernel, and later clients are refused")
    func lastConnections() async throws {
        let folder = try TemporaryFolder()
        let loop = try EventLoop(configuration: .init())
        let listener = try SocketListener(path: folder.socket, loop: loop)
        let accepted = Mutex(0)
        try listener.start { endpoint, _ in
            accepted.withLock { $0 += 1 }
            withExtendedLifetime(endpoint) {}
        }
        let late = await withCheckedContinuation { continuation in
            // The loop accepts nothing meanwhile.
            loop.perform {
                let waiting = (0..<7).map { _ in port_connect(folder.socket) }
                listener.stopAfterLast()
                let late = port_connect(folder.socket)
                for socket in waiting where socket >= 0 { close(socket) }
                continuation.resume(returning: waiting.allSatisfy { $0 >= 0 } ? late : 0)
            }
        }
        #expect(late == -1)
        while accepted.withLock({ $0 }) < 7 { await Task.yield() }
        #expect(access(folder.socket, F_OK) != 0)
        // The path is free.
        try SocketListener(path: folder.socket, loop: loop).close()
    }
}
