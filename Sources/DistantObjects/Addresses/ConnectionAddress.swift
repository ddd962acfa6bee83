import PortTransport

/// The address of a listener, of a program, or of either on another machine.
///
/// An address can also be read from text: see ``init(_:)``.
public struct ConnectionAddress: Sendable, Hashable, CustomStringConvertible {
    enum Kind: Sendable, Hashable {
        case path(String)
        case service(String, ServiceStart.Program?)
        case program(String, [String])
        case shell(SecureShell)
    }

    let kind: Kind

    /// A Unix domain socket at a path.
    ///
    /// The path may be longer than the address of a socket (107 bytes on Linux), as long as its last part has at most 80 bytes.
    public static func path(_ path: String) -> ConnectionAddress { ConnectionAddress(kind: .path(path)) }

    /// A service of this user on this machine, by its name.
    ///
    /// Its socket is a file in a folder that only the user can use: `distant` in `XDG_RUNTIME_DIR`, or in `/run/user/UID` without
    /// that variable; on macOS in the user's temporary folder. The listener makes the folder.
    ///
    /// - Parameter name: 1 to 64 letters of ASCII, digits, dots, hyphens and underscores, beginning with neither dot nor hyphen;
    ///   usually a reversed domain name, such as `com.example.directory`.
    public static func service(_ name: String) -> ConnectionAddress { ConnectionAddress(kind: .service(name, nil)) }

    /// A service whose program is started when nobody listens.
    ///
    /// One process at a time starts it, however many need it; the others wait, and connect when it listens. The program calls
    /// `Listener(at: .service(name))`. It goes on when this process ends: it has a session of its own, and reads nothing from its
    /// standard input.
    ///
    /// - Parameters:
    ///   - name: As for the other function.
    ///   - program: The path of the program. A name without a slash is looked up beside this program's executable.
    ///   - arguments: The arguments after the program's name.
    ///   - environment: Variables in addition to those of this process.
    ///   - directory: Its working directory; nil for the root directory.
    ///   - output: A file to which its standard output and error are appended; nil: they go nowhere. It is made with mode 0600.
    ///   - limit: How long it may take until it listens; then it is ended, and opening fails.
    public static func service(
        _ name: String, launching program: String, arguments: [String] = [], environment: [String: String] = [:],
        in directory: String? = nil, output: String? = nil, within limit: Duration = .seconds(10)
    ) -> ConnectionAddress {
        var start = ServiceStart.Program(name: program, limit: limit)
        start.arguments = arguments
        start.environment = environment
        start.directory = directory ?? "/"
        start.output = output
        return ConnectionAddress(kind: .service(name, start))
    }

    /// A program that `Connection.open` launches, as `Connection.launch` does over a socketpair.
    ///
    /// - Parameters:
    ///   - program: The path of the program. A name without a slash is looked up beside this program's executable.
    ///   - arguments: The arguments after the program's name.
    public static func program(_ program: String, arguments: [String] = []) -> ConnectionAddress {
        ConnectionAddress(kind: .program(program, arguments))
    }

    /// A command on another machine, over `ssh`: its standard input and output are the connection.
    ///
    /// The program `ssh` is looked up in the folders of `PATH`, and asks nobody for a password. The command calls `Connection.parent()`.
    /// See <doc:OtherMachines>.
    ///
    /// - Parameters:
    ///   - host: The machine's name for `ssh`, or `USER@NAME`. It does not begin with a hyphen.
    ///   - command: For the user's shell there, as one text. It begins with the program.
    ///   - options: Arguments of `ssh` before the host, such as `["-p", "2222"]`.
    ///   - limit: How long it may take until both sides have accepted each other; at least `Configuration.handshakeTimeout`.
    public static func ssh(
        _ host: String, command: String, options: [String] = [], within limit: Duration = .seconds(30)
    ) -> ConnectionAddress {
        ConnectionAddress(kind: .shell(SecureShell(host: host, .command(command), options: options, limit: limit)))
    }

    /// A listener at the path of a Unix domain socket on another machine, over `ssh`.
    ///
    /// - Parameters:
    ///   - host: As for the other function.
    ///   - path: An absolute path of at most 107 bytes.
    ///   - options: As for the other function.
    ///   - limit: As for the other function.
    public static func ssh(
        _ host: String, path: String, options: [String] = [], within limit: Duration = .seconds(30)
    ) -> ConnectionAddress {
        ConnectionAddress(kind: .shell(SecureShell(host: host, .path(path), options: options, limit: limit)))
    }

    /// The path of the socket, for an address of this machine.
    ///
    /// - Parameter isMade: Whether the folder of services is made if there is none.
    /// - Throws: `TransportError` if the name is not allowed, the user has no folder for services, or nobody can listen there.
    func socketPath(makingFolder isMade: Bool) throws(TransportError) -> String {
        switch kind {
        case .path(let path): return path
        case .service(let name, _): return try ServiceFolder.socket(of: name, makingFolder: isMade)
        case .program, .shell:
            throw TransportError(
                .invalidName, "a listener needs a path or the name of a service", context: [description])
        }
    }

    /// The address of a listener whose socket has that absolute path.
    func listening(at path: String) -> ConnectionAddress {
        if case .service(let name, _) = kind { .service(name) } else { .path(path) }
    }
}
