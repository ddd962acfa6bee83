import DistantObjects
import ExampleConsole
import FooBar
import Synchronization

/// A second root of each connection, with which a client stops the server.
final class Session: Vendable, Implements {
    typealias I = SessionInterface

    private let connection: Connection
    private let onStop: @Sendable () -> Void
    private let leftOver = Mutex<ConnectionStatistics?>(nil)

    static var messages: MessageTable<Session> {
        Message(\I.stop, Session.stop)
    }

    init(_ connection: Connection, onStop: @escaping @Sendable () -> Void = {}) {
        self.connection = connection
        self.onStop = onStop
    }

    /// Ends the connection once the client has released everything.
    ///
    /// Returns at once.
    func stop() {
        Task {
            let statistics = await connection.rest()
            leftOver.withLock { $0 = statistics }
            await connection.close(timeout: Patience.limit)
            onStop()
        }
    }

    /// Waits for the connection's end.
    ///
    /// - Throws: `Failure` if the client did not end it in order, or left something in the tables.
    func finish() async throws {
        let end = await connection.ended
        guard let statistics = leftOver.withLock({ $0 }) else {
            throw Failure("the client has gone without a word: \(end)")
        }
        guard statistics.isAtRest else { throw Failure("at the end the tables hold \(statistics.tables)") }
        Console.say("FooBarServer: stopped, every table is empty")
    }
}

/// The error as text.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
