import PortTransport
import TestSupport
import Testing

@testable import DistantObjects

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

/// A real sshd on this machine, with a port, keys and settings of its own; it ends with this object.
final class ShellServer: Sendable {
    private static let program = "/usr/sbin/sshd"

    /// Whether the programs are there, and `/proc`, in which the sessions are found.
    static let isInstalled =
        access("/proc/self", F_OK) == 0 && access(program, X_OK) == 0 && access("/usr/bin/ssh", X_OK) == 0
        && access("/usr/bin/ssh-keygen", X_OK) == 0

    let folder: TemporaryFolder
    let port: UInt16
    /// The address at which it listens.
    let host: String
    private let process: ChildProcess
    /// The shell, and with it sshd, ends when this does.
    private let input: ChannelEndpoint

    /// - Parameter network: The network in which it runs; nil: this machine's.
    init(in network: TestNetwork? = nil) async throws {
        host = network?.address ?? "127.0.0.1"
        // sshd wants it if it runs as root.
        if geteuid() == 0 { mkdir("/run/sshd", 0o755) }
        folder = try TemporaryFolder()
        for name in ["host", "user", "wrong"] {
            try await Self.run("/usr/bin/ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", folder.path(name)])
        }
        (port, process, input) = try await Self.start(in: folder, host, network?.prefix ?? "")
    }

    /// Starts sshd at a free port.
    ///
    /// Another program may take the port before sshd does. Then it is started again at another one.
    private static func start(
        in folder: TemporaryFolder, _ host: String, _ prefix: String
    ) async throws -> (UInt16, ChildProcess, ChannelEndpoint) {
        while true {
            let port = try freePort()
            try configure(folder, host, port)
            // The shell ends sshd when its input ends, so also if this process is killed.
            let (process, input) = try ChildProcess.launch(
                "/bin/sh",
                arguments: [
                    "-c", "\(prefix)\(program) -D -E \"$0/log\" -f \"$0/sshd.conf\" & cat; kill $!; wait", folder.path,
                ], over: .pipes)
            func listens() -> Bool { access(folder.path("pid"), F_OK) == 0 }
            await eventually("sshd listens, or the port is taken") {
                let log = String(decoding: systemContents(of: folder.path("log")), as: UTF8.self)
                return listens() || log.contains("Cannot bind")
            }
            if listens() { return (port, process, input) }
            unlink(folder.path("log"))
        }
    }

    /// Writes the files that name the port.
    private static func configure(_ folder: TemporaryFolder, _ host: String, _ port: UInt16) throws {
        try write(
            """
            Port \(port)
            ListenAddress \(host)
            HostKey \(folder.path("host"))
            PidFile \(folder.path("pid"))
            AuthorizedKeysFile \(folder.path("user.pub"))
            PermitRootLogin yes
            StrictModes no
            UsePAM no
            PasswordAuthentication no
            KbdInteractiveAuthentication no
            MaxStartups 100
            """, to: folder.path("sshd.conf"))
        func known(_ key: String) throws -> String {
            let words = String(decoding: systemContents(of: folder.path(key)), as: UTF8.self).split(separator: " ")
            return "[\(host)]:\(port) \(try #require(words.first)) \(words[1])\n"
        }
        try write(known("host.pub"), to: folder.path("known"))
        try write(known("wrong.pub"), to: folder.path("changed"))
        try write("", to: folder.path("unknown"))
        for (name, key, hosts) in [
            ("conf", "user", "known"), ("wrong.conf", "wrong", "known"), ("changed.conf", "user", "changed"),
            ("unknown.conf", "user", "unknown"),
        ] {
            try write(
                """
                Host *
                  HostName \(host)
                  Port \(port)
                  IdentityFile \(folder.path(key))
                  IdentitiesOnly yes
                  IdentityAgent none
                  UserKnownHostsFile \(folder.path(hosts))
                  GlobalKnownHostsFile /dev/null
                """, to: folder.path(name))
        }
    }

    /// The arguments of ssh for it.
    var options: [String] { options("conf") }

    func options(_ name: String) -> [String] { ["-F", folder.path(name)] }

    /// The command of the other process of tests.
    static func peer(_ words: String...) throws -> String {
        (["'\(try builtProgram("killed-peer"))'"] + words).joined(separator: " ")
    }

    /// An address of that command.
    func command(_ command: String? = nil) throws -> Connection.Address {
        .ssh("machine", command: try command ?? Self.peer(), options: options, within: TestTimeout.wait)
    }

    /// An address of a socket.
    func path(_ path: String) -> Connection.Address {
        .ssh("machine", path: path, options: options, within: TestTimeout.wait)
    }

    /// The processes that serve a connection.
    var sessions: [Int32] {
        let text = String(decoding: systemContents(of: folder.path("pid")), as: UTF8.self)
        guard let server = Int32(text.trimmingPrefix(while: \.isWhitespace).prefix { $0.isNumber }) else { return [] }
        return String(decoding: systemContents(of: "/proc/\(server)/task/\(server)/children"), as: UTF8.self)
            .split(separator: " ").compactMap { Int32($0) }
    }

    /// Sends a signal to the only session.
    func signalSession(_ signal: Int32) throws {
        let sessions = sessions
        try #require(sessions.count == 1, "\(sessions)")
        #expect(kill(sessions[0], signal) == 0)
    }

    static func run(_ program: String, _ arguments: [String]) async throws {
        let (process, _) = try ChildProcess.launch(program, arguments: arguments)
        let status = await process.waitForExit()
        try #require(status == .exited(0), "\(program) \(arguments)")
    }

    static func write(_ text: String, to path: String) throws {
        try Data("\(text)\n".utf8).write(to: URL(fileURLWithPath: path))
    }

    /// A port at which nobody listens.
    static func freePort() throws -> UInt16 { try LocalPort().number }
}

/// A port of this machine at which nobody answers.
final class LocalPort: Sendable {
    private let descriptor: CInt
    let number: UInt16

    init() throws {
        (descriptor, number) = try systemListeningSocket()
    }

    deinit { close(descriptor) }

    /// Has clients wait: the system accepts them, and nobody greets them.
    func acceptAll() { listen(descriptor, 8) }

    /// Whether a client waits.
    var hasClient: Bool {
        var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&event, 1, 0) == 1
    }
}
