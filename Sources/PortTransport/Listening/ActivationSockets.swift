internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The listening sockets that a service manager opened and passed to this process, as `sd_listen_fds(3)` describes:
/// descriptors from 3, counted by `LISTEN_FDS` and named by `LISTEN_FDNAMES`, for the process `LISTEN_PID`.
///
/// The variables are read once and unset, and the descriptors made close-on-exec, so that no program started from here
/// takes them for its own.
final class ActivationSockets: @unchecked Sendable {  // `lock` protects `passed`.
    struct Passed: Sendable {
        let name: String
        let descriptor: CInt
    }

    static let shared = ActivationSockets()

    private let lock = Lock()
    /// The sockets that are not taken; nil until the variables are read.
    private var passed: [Passed]?
    private let first: CInt

    /// - Parameter first: The number of the first descriptor; tests have to choose another.
    init(first: CInt = 3) { self.first = first }

    deinit { lock.destroy() }

    /// Removes and returns a socket.
    ///
    /// - Parameter name: One of `LISTEN_FDNAMES`; nil for the first socket that is left.
    /// - Throws: `notActivated` if there is none; `wrongDescriptor` if it is not a listening Unix domain socket.
    func take(named name: String?) throws(TransportError) -> Passed {
        let (taken, left) = lock.withLock { () -> (Passed?, [String]) in
            var all = passed ?? read()
            let index = name.map { name in all.firstIndex { $0.name == name } } ?? (all.isEmpty ? nil : 0)
            let taken = index.map { all.remove(at: $0) }
            passed = all
            return (taken, all.map(\.name))
        }
        guard let taken else {
            throw TransportError(.notActivated, Self.reason(name, left), context: name.map { [$0] } ?? [])
        }
        guard port_is_listener(taken.descriptor) else {
            port_close(taken.descriptor)
            throw TransportError(
                .wrongDescriptor,
                "The service manager passed descriptor \(taken.descriptor) (\(taken.name)), "
                    + "which is no listening Unix domain stream socket.", context: [taken.name])
        }
        return taken
    }

    private static func reason(_ name: String?, _ left: [String]) -> String {
        guard let name else { return "No service manager has passed this process a socket that is not in use." }
        return left.isEmpty
            ? "No service manager has passed this process a socket named \(name)."
            : "The service manager has passed no socket named \(name), but \(left.joined(separator: ", "))."
    }

    private func read() -> [Passed] {
        defer { for variable in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { unsetenv(variable) } }
        // The variables may be for a process that started this one.
        guard Self.value("LISTEN_PID").flatMap({ pid_t($0) }) == getpid(),
            let count = Self.value("LISTEN_FDS").flatMap({ CInt($0) }), count > 0, count <= CInt.max - first
        else { return [] }
        let names = Self.value("LISTEN_FDNAMES")?.split(separator: ":", omittingEmptySubsequences: false).map(
            String.init)
        var passed: [Passed] = []
        for descriptor in first..<(first + count) {
            // A wrong count must not cause a loop over billions of numbers.
            guard port_kind(descriptor) >= 0 else { break }
            _ = port_set_close_on_exec(descriptor)
            let index = Int(descriptor - first)
            let name = names.flatMap { $0.count == Int(count) ? $0[index] : nil }
            passed.append(Passed(name: name ?? "unknown", descriptor: descriptor))
        }
        return passed
    }

    private static func value(_ variable: String) -> String? { getenv(variable).map { String(cString: $0) } }
}
