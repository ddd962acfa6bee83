extension SecureShell {
    /// The status with which ssh says that it has failed itself; also when a signal has ended the command.
    private static let ownFailure: Int32 = 255

    /// What ssh says when it fails, in English, and what that means.
    private struct Fault {
        let code: TransportError.Code
        let signs: [String]
        let meaning: @Sendable (String) -> String

        init(_ code: TransportError.Code, _ signs: String..., meaning: @escaping @Sendable (String) -> String) {
            self.code = code
            self.signs = signs
            self.meaning = meaning
        }
    }

    /// The first one whose sign is in the output counts.
    private static let faults = [
        Fault(.accessDenied, "IDENTIFICATION HAS CHANGED", "has changed and you have requested strict") {
            "the host key of \($0) is another one than before: make sure that it is the same machine, and then remove the "
                + "old key with ssh-keygen -R"
        },
        Fault(.accessDenied, "Host key verification failed", "host key is known for") {
            "the host key of \($0) is not known: connect once with ssh in a terminal, and compare the key"
        },
        Fault(.accessDenied, "Permission denied (", "Too many authentication failures") {
            "\($0) does not let this user in: it accepts none of the keys, and nobody is asked for a password"
        },
        Fault(.unreachable, "Could not resolve hostname") { "there is no machine of the name \($0)" },
        Fault(.unreachable, "No route to host", "Network is unreachable") { "there is no route to \($0)" },
        Fault(.unreachable, ": Connection refused") { "\($0) refuses connections: no sshd listens at that port" },
        Fault(.unreachable, "timed out", "not responding") { "\($0) does not answer" },
        Fault(.nobodyListens, "open failed: administratively prohibited", "forwarding failed") {
            "the sshd of \($0) does not allow connections to sockets"
        },
        Fault(.nobodyListens, "open failed: ") { "nobody listens at this socket on \($0), or the user may not use it" },
        Fault(.unreachable, "closed by", "Connection reset", "Broken pipe") { "\($0) has closed the connection" },
    ]

    /// The last line that is not empty, at most 400 characters of it.
    ///
    /// It comes from another machine, so it is shown without characters that mean something to a terminal.
    package static func lastLine(of lines: String) -> String? {
        let line = lines.split(whereSeparator: \.isNewline).last { $0.contains { !$0.isWhitespace } }
        return line.map { PlainText.line(String($0.prefix(400))) }
    }

    /// Why ssh has failed, if it has.
    ///
    /// - Parameters:
    ///   - status: Its exit status; nil if it goes on, was ended by this process, or was ended by a signal.
    ///   - ending: How it has ended, in words.
    ///   - lines: What it and the command have written to standard error.
    /// - Returns: Nil if the other side has ended, and not ssh.
    package func fault(_ status: Int32?, _ ending: String, _ lines: String) -> TransportError? {
        guard isTunnel || status == Self.ownFailure else { return nil }
        let hasFailed = status == Self.ownFailure
        // It may also have been asked to end when it was about to: then its last line has to say so.
        let last = lines.split(whereSeparator: \.isNewline).suffix(hasFailed ? 4 : 1).joined(separator: "\n")
        let found = Self.faults.first { fault in
            (hasFailed || fault.code != .accessDenied) && fault.signs.contains { last.contains($0) }
        }
        guard let found else {
            guard hasFailed else { return nil }
            let or = isTunnel ? "" : ", as it also does when a signal has ended the command"
            return TransportError(
                .unreachable, "ssh to \(host) has ended with \(ending)\(or)\(Self.quoted(lines))", context: [host])
        }
        return TransportError(found.code, found.meaning(host) + Self.quoted(lines), context: [host])
    }

    /// The last line as the end of a sentence; empty if there is none.
    package static func quoted(_ lines: String) -> String { lastLine(of: lines).map { "; ssh says “\($0)”" } ?? "" }
}
