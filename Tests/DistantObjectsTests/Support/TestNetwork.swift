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

/// A network of its own, with one link to this machine's, which can be taken down; it ends with this object.
///
/// Only the superuser can make one.
final class TestNetwork: Sendable {
    /// Whether this machine allows it, and has the programs for it.
    ///
    /// Containers often allow it to nobody.
    @Sendable static func isPossible() async -> Bool {
        guard geteuid() == 0, ["/usr/bin/unshare", "/usr/bin/nsenter", program].allSatisfy(isProgram),
            let (child, _) = try? ChildProcess.launch(
                "/usr/bin/unshare", arguments: ["-n", program, "link", "add", "near", "type", "veth"])
        else { return false }
        return await child.waitForExit() == .exited(0)
    }

    private static let program = ["/usr/sbin/ip", "/sbin/ip"].first(where: isProgram) ?? "ip"

    private static func isProgram(_ path: String) -> Bool { access(path, X_OK) == 0 }

    /// The address of a server in it.
    let address: String
    private let link: String
    /// A process that is in it: the network exists as long as the process does.
    private let holder: ChildProcess
    private let input: ChannelEndpoint

    init() async throws {
        // A range for tests, which no network of others has (RFC 2544).
        let number = UInt32.random(in: 0..<(1 << 15)) * 4
        let prefix = "198.\(18 + number >> 16).\(number >> 8 & 255)."
        address = "\(prefix)\(number & 255 | 2)"
        link = "dob\(number)"
        (holder, input) = try ChildProcess.launch(
            "/usr/bin/unshare", arguments: ["-n", "/bin/cat"], over: .pipes)
        let pid = "\(holder.pid)"
        await eventually("the network is there") {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/ns/net"))
                != (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/ns/net"))
        }
        try await ip("link", "add", link, "type", "veth", "peer", "name", "far", "netns", pid)
        try await ip("address", "add", "\(prefix)\(number & 255 | 1)/30", "dev", link)
        try await ip("link", "set", link, "up")
        for words in [["address", "add", "\(address)/30", "dev", "far"], ["link", "set", "far", "up"]] {
            try await ShellServer.run("/usr/bin/nsenter", ["-t", pid, "-n", Self.program] + words)
        }
    }

    /// The beginning of a command of a shell that runs in it.
    var prefix: String { "/usr/bin/nsenter -t \(holder.pid) -n " }

    /// Cuts the link without a word to anybody, or joins it again.
    func setLink(isUp: Bool) async throws { try await ip("link", "set", link, isUp ? "up" : "down") }

    private func ip(_ words: String...) async throws { try await ShellServer.run(Self.program, words) }
}
