import CPortShims
import TestSupport
import Testing

@testable import PortTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The environment is the process's, so one at a time; nothing else reads these variables.
@Suite("Sockets passed by a service manager", .serialized, .bounded())
struct ActivationTests {
    private static let variables = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"]

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

    /// A number below the greatest by so much, where no other test's descriptors come.
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

    @Test("They are found by name or in order, once each, and no program started from here finds them")
    func found() async throws {
        let directory = try TemporaryFolder()
        let paths = ["a", "b", "c"].map { "\(directory.path)/\($0)" }
        let first = Self.unused(100)
        Self.pass(paths.map(Self.bound), at: first, names: "one:two:three")
        let sockets = ActivationSockets(first: first)
        let two = try sockets.take(named: "two")
        #expect(two.descriptor == first + 1)
        Self.expectUnset()
        for index in 0..<3 { #expect(fcntl(first + CInt(index), F_GETFD) & FD_CLOEXEC != 0) }
        #expect(try sockets.take(named: nil).name == "one")
        #expect(code { _ = try sockets.take(named: "two") } == .notActivated)
        #expect(try sockets.take(named: nil).name == "three")
        #expect(code { _ = try sockets.take(named: nil) } == .notActivated)
        for index in 0..<3 { close(first + CInt(index)) }
        for path in paths { unlink(path) }
        directory.remove()
    }

    @Test("What was meant for another process, or names too many, is not taken")
    func foreignInActivation() throws {
        // Beyond what can be open: whatever count is believed, nothing is there.
        let first = Self.unused(0)
        setenv("LISTEN_PID", "1", 1)
        setenv("LISTEN_FDS", "2", 1)
        #expect(code { _ = try ActivationSockets(first: first).take(named: nil) } == .notActivated)
        Self.expectUnset()
        for count in ["-1", "0", "x", "2000000000", "99999999999999999999"] {
            setenv("LISTEN_PID", "\(getpid())", 1)
            setenv("LISTEN_FDS", count, 1)
            #expect(code { _ = try ActivationSockets(first: first).take(named: nil) } == .notActivated)
        }
        #expect(code { _ = try ActivationSockets(first: first).take(named: "x") } == .notActivated)
    }

    @Test("A pipe, a socket that does not listen and one of datagrams are wrong, by name")
    func wrongKind() throws {
        let first = Self.unused(50)
        var pipes: [CInt] = [-1, -1]
        #expect(pipe(&pipes) == 0)
        let (one, other) = try ChannelEndpoint.socketPairDescriptors()
        var datagrams: [CInt] = [-1, -1]
        #if canImport(Glibc)
            let kind = CInt(SOCK_DGRAM.rawValue)
        #else
            let kind = SOCK_DGRAM
        #endif
        #expect(socketpair(AF_UNIX, kind, 0, &datagrams) == 0)
        Self.pass([pipes[0], one, datagrams[0]], at: first, names: nil)
        let sockets = ActivationSockets(first: first)
        for _ in 0..<3 { #expect(code { _ = try sockets.take(named: nil) } == .wrongDescriptor) }
        #expect(code { _ = try sockets.take(named: nil) } == .notActivated)
        for descriptor in [pipes[1], other, datagrams[1]] { close(descriptor) }
    }

    private func code(_ body: () throws -> Void) -> TransportError.Code? {
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
}
