// swift-format-ignore-file
// It is laid out as Services.md shows it.

import DistantObjects
import WordCountValues

/// The code of Services.md.
enum ServicesCode {
    final class Counter: Vendable, Implements {
        typealias I = CounterInterface

        static var messages: MessageTable<Counter> {
            Message(\I.count) { _ in { (path: String) in WordCount(of: path) } }
            Message(\I.countAll) { _ in { (paths: [String], _: Remote<ObserverInterface>) in paths.count } }
        }
    }

    static func serve(_ counter: Counter) async throws {
        // Services.md: listen
        let listener = try Listener(at: .service("com.example.counter"))
        for await connection in listener { try connection.vend(counter) }
        // end
    }

    static func open() async throws -> Connection {
        // Services.md: open
        let connection = try await Connection.open(.service("com.example.counter"))
        // end
        return connection
    }

    static func list(_ print: (String, RegisteredService.State, Int32, String) -> Void) throws {
        // Services.md: list
        for service in try RegisteredService.all() { print(service.name, service.state, service.pid, service.program) }
        // end
    }

    static func start(_ program: String, _ logFile: String) async throws -> Connection {
        // Services.md: start
        let address = ConnectionAddress.service("com.example.counter", launching: program, output: logFile)
        let connection = try await Connection.open(address)
        // end
        return connection
    }

    static func serve(_ counter: Counter, by listener: Listener) async throws {
        // Services.md: idle
        listener.closeWhenIdle(for: .seconds(60))
        for await connection in listener { try connection.vend(counter) }
        await listener.ended
        // end
    }

    static func helper(_ address: ConnectionAddress) -> Helper<CounterInterface> {
        // Services.md: helper
        let counter = Helper(CounterInterface.self, name: "counter") { try await Connection.open(address) }
        // end
        return counter
    }
}
