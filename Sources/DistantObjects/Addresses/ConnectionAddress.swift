import PortTransport

/// The address of a listener.
public struct ConnectionAddress: Sendable, Hashable, CustomStringConvertible {
    enum Kind: Sendable, Hashable {
        case path(String)
        case service(String, ServiceStart.Program?)
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

    /// The path or the name.
    public var description: String {
        switch kind {
        case .path(let path): path
        case .service(let name, _): name
        }
    }

    /// The path of the socket.
    ///
    /// - Parameter isMade: Whether the folder of services is made if there is none.
    /// - Throws: `TransportError` if the name is not allowed, or the user has no folder for services.
    func socketPath(makingFolder isMade: Bool) throws(TransportError) -> String {
        switch kind {
        case .path(let path): path
        case .service(let name, _): try ServiceFolder.socket(of: name, makingFolder: isMade)
        }
    }

    /// The address of a listener whose socket has that absolute path.
    func listening(at path: String) -> ConnectionAddress {
        if case .service(let name, _) = kind { .service(name) } else { .path(path) }
    }
}
