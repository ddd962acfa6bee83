import PortTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension ConnectionAddress {
    /// Reads an address from text, as a user writes it on a command line or in a file of settings.
    ///
    /// | Text | Address |
    /// |---|---|
    /// | `com.example.counter` | the service of that name |
    /// | `/run/x.sock`, `./x.sock` | the socket at that path; if there is a program, that is launched |
    /// | `unix:x.sock` | the socket at that path |
    /// | `exec:worker` | a program that is launched: a path, or a name beside this program |
    /// | `ssh-unix:HOST:/run/x.sock` | the socket at that path on another machine |
    /// | `ssh-exec:HOST:worker --flag` | a command on another machine |
    ///
    /// `HOST` is what `ssh` takes, also `USER@HOST`. An address of IPv6 is in brackets.
    ///
    /// - Parameter text: The text.
    /// - Throws: `ConnectionError.transport` if it is none of these, or a part is missing or not allowed.
    public init(_ text: String) throws {
        do { kind = try Self.kind(of: text) } catch {
            throw ConnectionError(.transport, error.message, context: text, underlying: error)
        }
    }

    private static func kind(of text: String) throws(TransportError) -> Kind {
        guard !text.isEmpty, !text.utf8.contains(0) else {
            throw TransportError(.invalidName, "an address cannot be empty or contain a zero byte", context: [text])
        }
        if isPath(text) { return isProgram(text) ? .program(text, []) : .path(text) }
        guard let colon = text.firstIndex(of: ":") else {
            try ServiceFolder.check(text)
            return .service(text, nil)
        }
        let rest = String(text[text.index(after: colon)...])
        switch text[..<colon] {
        case "unix": return .path(try filled(rest, "the path of the socket", text))
        case "exec": return .program(try filled(rest, "the program", text), [])
        case "ssh-unix":
            let (host, path) = try parts(of: rest, text)
            return .shell(try checked(SecureShell(host: host, .path(path), options: [], limit: .seconds(30))))
        case "ssh-exec":
            let (host, command) = try parts(of: rest, text)
            return .shell(try checked(SecureShell(host: host, .command(command), options: [], limit: .seconds(30))))
        default:
            throw TransportError(
                .invalidName,
                "“\(text[..<colon]):” begins no address: there are unix:, exec:, ssh-unix: and ssh-exec:, paths with a slash, "
                    + "and names of services", context: [text])
        }
    }

    private static func isPath(_ text: String) -> Bool {
        text.hasPrefix("/") || text.hasPrefix("./") || text.hasPrefix("../")
    }

    private static func isProgram(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }

    private static func filled(_ part: String, _ name: String, _ text: String) throws(TransportError) -> String {
        if part.isEmpty { throw TransportError(.invalidName, "\(name) is missing after the colon", context: [text]) }
        return part
    }

    private static func checked(_ shell: SecureShell) throws(TransportError) -> SecureShell {
        try shell.check()
        return shell
    }

    /// The host, and what follows its colon.
    private static func parts(of rest: String, _ text: String) throws(TransportError) -> (String, String) {
        var begin = rest.startIndex
        if let bracket = rest.firstIndex(of: "["), !rest[..<bracket].contains(":") {
            guard let end = rest[bracket...].firstIndex(of: "]") else {
                throw TransportError(
                    .invalidName, "the bracket before the host has no other one after it", context: [text])
            }
            begin = rest.index(after: end)
            guard begin == rest.endIndex || rest[begin] == ":" else {
                throw TransportError(.invalidName, "a colon has to follow the bracket after the host", context: [text])
            }
        }
        guard let colon = rest[begin...].firstIndex(of: ":") else {
            throw TransportError(
                .invalidName, "a colon has to follow the host, and then a path or a command", context: [text])
        }
        return (String(rest[..<colon]), String(rest[rest.index(after: colon)...]))
    }

    /// The address as text that ``init(_:)`` reads.
    ///
    /// The arguments of a program, and the options of `ssh`, are not part of it; nor is the program that is started for a service.
    public var description: String {
        switch kind {
        case .path(let path): Self.isPath(path) ? path : "unix:\(path)"
        case .service(let name, _): name
        case .program(let program, _): "exec:\(program)"
        case .shell(let shell):
            switch shell.target {
            case .path(let path): "ssh-unix:\(Self.bracketed(shell.host)):\(path)"
            case .command(let command): "ssh-exec:\(Self.bracketed(shell.host)):\(command)"
            }
        }
    }

    private static func bracketed(_ host: String) -> String {
        let at = host.lastIndex(of: "@").map { host.index(after: $0) } ?? host.startIndex
        return host[at...].contains(":") ? "\(host[..<at])[\(host[at...])]" : host
    }
}
