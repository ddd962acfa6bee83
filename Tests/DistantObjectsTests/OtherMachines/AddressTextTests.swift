import DistantObjects
import PortTransport
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

@Suite("Addresses as text", .bounded())
struct AddressTextTests {
    @Test(
        "An address is read from text, and gives the text back",
        arguments: [
            ("com.example.counter", .service("com.example.counter")),
            ("/run/x.sock", .path("/run/x.sock")),
            ("./x.sock", .path("./x.sock")),
            ("unix:x.sock", .path("x.sock")),
            ("unix:a:b", .path("a:b")),
            ("exec:worker", .program("worker")),
            ("exec:/bin/sh", .program("/bin/sh")),
            ("ssh-unix:machine:/run/x.sock", .ssh("machine", path: "/run/x.sock")),
            ("ssh-unix:me@machine:/run/a:b", .ssh("me@machine", path: "/run/a:b")),
            ("ssh-unix:[::1]:/run/x.sock", .ssh("::1", path: "/run/x.sock")),
            ("ssh-exec:me@[fe80::1%eth0]:run --flag 'a: b'", .ssh("me@fe80::1%eth0", command: "run --flag 'a: b'")),
            ("ssh-exec:machine:echo [a]", .ssh("machine", command: "echo [a]")),
        ] as [(String, ConnectionAddress)])
    func readsText(text: String, address: ConnectionAddress) throws {
        #expect(try ConnectionAddress(text) == address)
        #expect("\(address)" == text)
    }

    @Test("Other spellings of a path, of the place of a program, and of a host give the same address")
    func spellings() throws {
        #expect(try ConnectionAddress("unix:/run/x.sock") == .path("/run/x.sock"))
        #expect(try ConnectionAddress("/bin/sh") == .program("/bin/sh"))
        // A folder is executable, and no program.
        #expect(try ConnectionAddress("/bin") == .path("/bin"))
        #expect(ConnectionAddress.ssh("[::1]", path: "/s") == .ssh("::1", path: "/s"))
    }

    @Test(
        "Text that is no address is an error with a sentence",
        arguments: [
            ("", "empty"), ("a\0b", "zero byte"), ("a b", "name"), (".hidden", "name"),
            ("http:x", "“http:” begins no address"),
            ("unix:", "missing"), ("exec:", "missing"), ("ssh-unix:machine", "colon"), ("ssh-unix:machine:x", "slash"),
            ("ssh-unix::/s", "empty"), ("ssh-unix:me@:/s", "empty"), ("ssh-exec:@machine:ls", "empty"),
            ("ssh-exec:machine:", "empty"), ("ssh-exec:machine: ", "empty"), ("ssh-exec:[::1:ls", "bracket"),
            ("ssh-exec:[::1]x:ls", "colon"), ("ssh-exec:-oProxyCommand=x:ls", "hyphen"),
            ("ssh-exec:me@-oX:ls", "hyphen"),
            ("ssh-exec:a b:ls", "spaces"), ("ssh-unix:machine:/${HOME}", "${"),
            ("ssh-unix:machine:/\(String(repeating: "x", count: 107))", "107 bytes"),
        ])
    func refusesText(text: String, part: String) {
        let error = #expect(throws: ConnectionError.self) { try ConnectionAddress(text) }
        #expect(error?.code == .transport && error?.message.contains(part) == true, "\(error as Any)")
    }

    @Test(
        "A host, a command or an option that ssh could misread is refused before ssh is started",
        arguments: [
            .ssh("-oProxyCommand=touch", command: "ls"), .ssh("", command: "ls"), .ssh("a\0b", command: "ls"),
            .ssh("machine", command: ""), .ssh("machine", command: "a\0b"), .ssh("machine", path: "relative"),
            .ssh("machine", path: "/a\0b"), .ssh("machine", command: "ls", options: ["-o\0"]),
        ] as [ConnectionAddress])
    func misread(address: ConnectionAddress) async {
        let error = await #expect(throws: ConnectionError.self) { try await Connection.open(address) }
        #expect(error?.code == .transport)
    }

    @Test("A program's address is opened by launching it, and nobody can listen there or on another machine")
    func programs() async throws {
        let address = try ConnectionAddress("exec:\(builtProgram("killed-peer"))")
        let connection = try await Connection.open(address, configuration: .patient)
        let echoed: [UInt8] = try await connection.root(named: "ledger").echo([1, 2] as [UInt8])
        #expect(echoed == [1, 2] && connection.child != nil)
        await connection.close()
        for other in [address, .ssh("machine", path: "/s"), .ssh("machine", command: "ls")] {
            let error = #expect(throws: ConnectionError.self) { try Listener(at: other) }
            #expect((error?.underlying as? TransportError)?.code == .invalidName)
        }
    }
}
