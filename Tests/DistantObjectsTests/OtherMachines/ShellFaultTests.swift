import PortTransport
import TestSupport
import Testing

@Suite("What ssh says, and what that means", .bounded())
struct ShellFaultTests {
    private static func shell(_ target: SecureShell.Target = .command("worker")) -> SecureShell {
        SecureShell(host: "m", target, options: [], limit: .seconds(1))
    }

    @Test(
        "The lines of ssh's own failures become a sentence, and the last one is quoted",
        arguments: [
            ("ssh: connect to host m port 22: No route to host\r\n", .unreachable, "there is no route to m"),
            ("ssh: connect to host m port 22: Network is unreachable", .unreachable, "there is no route to m"),
            ("ssh: connect to host m port 22: Connection timed out", .unreachable, "m does not answer"),
            ("Timeout, server m not responding.", .unreachable, "m does not answer"),
            ("ssh: Could not resolve hostname m: Name or service not known", .unreachable, "no machine of the name m"),
            ("Connection to m closed by remote host.", .unreachable, "m has closed the connection"),
            ("client_loop: send disconnect: Broken pipe", .unreachable, "m has closed the connection"),
            ("a@m: Permission denied (publickey,password).", .accessDenied, "m does not let this user in"),
            (
                "Received disconnect from m: Too many authentication failures", .accessDenied,
                "does not let this user in"
            ),
            (
                "No ED25519 host key is known for m and you have requested strict checking.", .accessDenied,
                "is not known"
            ),
            ("an error of a kind that nobody knows", .unreachable, "ssh to m has ended with status 255"),
        ] as [(String, TransportError.Code, String)])
    func meanings(line: String, code: TransportError.Code, meaning: String) {
        let fault = Self.shell().fault(255, "status 255", "Welcome to m.\n\(line)\n\n")
        #expect(fault?.code == code && fault?.message.contains(meaning) == true, "\(fault as Any)")
        #expect(fault?.message.hasSuffix("; ssh says “\(line.split(whereSeparator: \.isNewline)[0])”") == true)
    }

    @Test("The status of a command is its own, and what it said long before does not count")
    func statusOfCommand() {
        let shell = Self.shell()
        #expect(shell.fault(3, "status 3", "Permission denied (publickey).") == nil)
        #expect(shell.fault(nil, "", "Permission denied (publickey).") == nil)
        let old = shell.fault(255, "status 255", "Permission denied (publickey).\n1\n2\n3\n4\n")
        #expect(old?.code == .unreachable && old?.message.contains("when a signal has ended the command") == true)
        #expect(shell.fault(255, "status 255", "")?.message.contains("says") == false)
    }

    @Test("While ssh goes on, only the failure of a socket there, or the end of the link, is taken from its last line")
    func statusOfTunnel() {
        let shell = Self.shell(.path("/s"))
        #expect(shell.fault(nil, "", "channel 1: open failed: connect failed: open failed")?.code == .nobodyListens)
        let prohibited = shell.fault(nil, "", "channel 1: open failed: administratively prohibited: open failed")
        #expect(prohibited?.message.contains("does not allow connections to sockets") == true)
        #expect(shell.fault(0, "status 0", "Connection to m closed by remote host.")?.code == .unreachable)
        #expect(shell.fault(0, "status 0", "Permission denied (publickey).") == nil)
        #expect(shell.fault(0, "status 0", "") == nil)
    }

    @Test("A line is shown without what a terminal would obey, and not longer than 400 characters")
    func plainLine() {
        #expect(SecureShell.lastLine(of: "a\u{1B}[31mb\u{9B}c\n \n") == "a?[31mb?c")
        #expect(SecureShell.lastLine(of: String(repeating: "x", count: 70_000))?.count == 400)
        #expect(SecureShell.lastLine(of: "\n \r\n") == nil)
    }
}
