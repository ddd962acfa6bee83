// swift-format-ignore-file
// It is laid out as OtherMachines.md shows it.

import DistantObjects
import WordCountValues

/// The code of OtherMachines.md.
enum OtherMachinesCode {
    static func command() async throws -> Connection {
        // OtherMachines.md: command
        let address = ConnectionAddress.ssh("build.example.com", command: "counter --fast")
        let connection = try await Connection.open(address)
        // end
        return connection
    }

    static func socket() async throws -> Connection {
        // OtherMachines.md: socket
        let service = ConnectionAddress.ssh("ann@build.example.com", path: "/run/counter.sock", options: ["-p", "2222"])
        let other = try await Connection.open(service)
        // end
        return other
    }

    static func helper(_ address: ConnectionAddress) -> Helper<CounterInterface> {
        // OtherMachines.md: helper
        let counter = Helper(CounterInterface.self, name: "counter") { try await Connection.open(address) }
        // end
        return counter
    }

    static func open(_ text: String) async throws -> Connection {
        // OtherMachines.md: text
        let address = try ConnectionAddress(text)
        let connection = try await Connection.open(address)
        // end
        return connection
    }
}
