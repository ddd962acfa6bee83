internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The sockets that a service manager opened and passed to this process, as `sd_listen_fds(3)` describes:
/// descriptors from 3, counted by `LISTEN_FDS` and named by `LISTEN_FDNAMES`, for the process `LISTEN_PID`.
///
/// The variables are read once and unset, and the descriptors made close-on-exec, so that no program started from here
/// takes them for its own.
struct ActivationSockets: Sendable {
    static let shared = ActivationSockets()

    private let passed: PassedDescriptors

    /// - Parameter first: The number of the first descriptor; tests have to choose another.
    init(first: CInt = 3) { passed = PassedDescriptors { Self.read(from: first) } }

    /// Removes and returns a listening socket.
    ///
    /// - Parameter name: One of `LISTEN_FDNAMES`; nil for the first socket that is left.
    /// - Throws: `notActivated` if there is none; `wrongDescriptor` if it is not a listening Unix domain socket.
    func takeListening(named name: String?) throws(TransportError) -> PassedDescriptors.Passed {
        let taken = try take(named: name)
        guard port_is_listener(taken.descriptor) else {
            port_close(taken.descriptor)
            throw Self.other(taken, "no listening Unix domain stream socket")
        }
        return taken
    }

    /// Removes and returns the socket of a connection that the service manager has accepted for this process (`Accept=yes`).
    ///
    /// - Parameter name: As above.
    /// - Throws: `notActivated` if there is none; `wrongDescriptor` if it is not a connected socket.
    func takeConnected(named name: String?) throws(TransportError) -> PassedDescriptors.Passed {
        let taken = try take(named: name)
        guard port_kind(taken.descriptor) == CInt(PORT_KIND_SOCKET), !port_is_listener(taken.descriptor) else {
            port_close(taken.descriptor)
            throw Self.other(taken, "no connected socket")
        }
        return taken
    }

    private func take(named name: String?) throws(TransportError) -> PassedDescriptors.Passed {
        let (taken, left) = passed.take(named: name)
        guard let taken else {
            throw TransportError(.notActivated, Self.reason(name, left), context: name.map { [$0] } ?? [])
        }
        return taken
    }

    private static func other(_ taken: PassedDescriptors.Passed, _ what: String) -> TransportError {
        TransportError(
            .wrongDescriptor,
            "The service manager passed descriptor \(taken.descriptor) (\(taken.name)), which is \(what).",
            context: [taken.name])
    }

    private static func reason(_ name: String?, _ left: [String]) -> String {
        guard let name else { return "No service manager has passed this process a socket that is not in use." }
        return left.isEmpty
            ? "No service manager has passed this process a socket named \(name)."
            : "The service manager has passed no socket named \(name), but \(left.joined(separator: ", "))."
    }

    private static func read(from first: CInt) -> [PassedDescriptors.Passed] {
        let process = ProcessEnvironment.take("LISTEN_PID").flatMap { pid_t($0) }
        let number = ProcessEnvironment.take("LISTEN_PIDFDID")
        let count = ProcessEnvironment.take("LISTEN_FDS").flatMap { CInt($0) }
        let text = ProcessEnvironment.take("LISTEN_FDNAMES")
        // The variables may be for a process that started this one.
        guard process == getpid(), isProcess(number), let count, count > 0, count <= CInt.max - first else { return [] }
        let names = text?.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        return PassedDescriptors.open(from: first, count: count, names?.count == Int(count) ? names : nil)
    }

    /// Whether the number identifies this process, which its process number does only until that is used again.
    ///
    /// - Parameter number: That of the process's descriptor in the kernel's file system for them; nil if it is not given.
    private static func isProcess(_ number: String?) -> Bool {
        guard let number else { return true }
        let descriptor = port_process_descriptor(getpid())
        // A system without such descriptors cannot have given the number.
        guard descriptor >= 0 else { return true }
        defer { port_close(descriptor) }
        var file = port_file()
        return port_file_of(descriptor, &file) < 0 || "\(file.number)" == number
    }
}
