/// A way to another machine by OpenSSH.
package struct SecureShell: Sendable, Hashable {
    /// What is reached there.
    package enum Target: Sendable, Hashable {
        /// A command of the user's shell, whose standard streams are the connection.
        case command(String)
        /// A Unix domain socket at an absolute path.
        case path(String)
    }

    /// `NAME`, `USER@NAME`, or an address of IPv6 without brackets.
    package let host: String
    package let target: Target
    /// Arguments of ssh before the host.
    package let options: [String]
    /// How long it may take until both sides have accepted each other.
    package let limit: Duration

    /// The longest path of a socket on Linux, in bytes.
    private static let longestPath = 107
    /// Seconds between the checks of ssh's own that the other machine is there, of which three have to fail.
    private static let interval = 15

    package init(host: String, _ target: Target, options: [String], limit: Duration) {
        self.host = Self.withoutBrackets(host)
        self.target = target
        self.options = options
        self.limit = limit
    }

    private static func withoutBrackets(_ host: String) -> String {
        let at = host.lastIndex(of: "@").map { host.index(after: $0) } ?? host.startIndex
        guard host[at...].first == "[", host.last == "]" else { return host }
        return String(host[..<at]) + host[at...].dropFirst().dropLast()
    }

    /// Whether it leads to a socket: ssh goes on then when the connection has ended.
    package var isTunnel: Bool { if case .path = target { true } else { false } }

    /// The arguments of ssh.
    ///
    /// - Parameter local: The path of the socket here that leads to the one there.
    /// - Throws: `invalidName` if the host, the command or the path cannot be used.
    func arguments(by local: String?) throws(TransportError) -> [String] {
        try check()
        // The first value of an option counts, so these precede the user's, and the others follow them.
        var words = ["-T", "-oBatchMode=yes"]
        if isTunnel { words += ["-N", "-oExitOnForwardFailure=yes", "-oControlPath=none"] }
        words += options
        let seconds = max(1, limit.components.seconds / 2)
        words += [
            "-oConnectTimeout=\(seconds)", "-oServerAliveInterval=\(Self.interval)", "-oServerAliveCountMax=3",
        ]
        switch target {
        case .command(let command): words += [host, "env \(Self.variable) \(command)"]
        case .path(let path): words += ["-L", "\(Self.escaped(local ?? "")):\(Self.escaped(path))", host]
        }
        return words
    }

    /// Tells the command that its standard streams are the connection.
    private static let variable = "DISTANT_OBJECTS_CHANNEL=stdio"

    /// A path as ssh reads it in a forwarding: a colon would end it, and a percent sign begin a token.
    private static func escaped(_ path: String) -> String {
        var text = ""
        for character in path {
            switch character {
            case "\\", ":": text += "\\\(character)"
            case "%": text += "%%"
            default: text.append(character)
            }
        }
        return text
    }

    /// Checks that the parts can be used.
    ///
    /// - Throws: `invalidName`, `pathTooLong`.
    package func check() throws(TransportError) {
        let name = host.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        guard !name.isEmpty, !host.hasPrefix("@") else {
            throw TransportError(.invalidName, "the name of the other machine is empty", context: [host])
        }
        // ssh would take it for an option, such as one that runs a program here.
        guard !host.hasPrefix("-"), !name.hasPrefix("-") else {
            throw TransportError(
                .invalidName, "the name of another machine cannot begin with a hyphen", context: [host])
        }
        guard host.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") }) else {
            throw TransportError(
                .invalidName, "the name of another machine has no spaces, slashes or control characters",
                context: [host])
        }
        switch target {
        case .command(let command):
            guard command.contains(where: { !$0.isWhitespace }), !command.utf8.contains(0) else {
                throw TransportError(
                    .invalidName, "the command for \(host) is empty or contains a zero byte", context: [host])
            }
        case .path(let path):
            guard path.hasPrefix("/"), !path.utf8.contains(0), !path.contains("${"), !path.contains("\n") else {
                throw TransportError(
                    .invalidName,
                    "the path of a socket on another machine begins with a slash, and contains no zero byte, no line "
                        + "break and no “${”", context: [host, path])
            }
            guard path.utf8.count <= Self.longestPath else {
                throw TransportError(
                    .pathTooLong, "the path of a socket on another machine has at most \(Self.longestPath) bytes",
                    context: [host, path])
            }
        }
    }
}
