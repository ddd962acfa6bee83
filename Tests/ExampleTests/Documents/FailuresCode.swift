// swift-format-ignore-file
// It is laid out as Failures.md shows it.

import DistantObjects

/// The code of Failures.md.
enum FailuresCode {
    // Failures.md: helper
    actor Helper {
        private let program: String
        private var current: Connection?
        private var launching: Task<Connection, any Error>?

        init(_ program: String) { self.program = program }

        /// The connection to the worker, which is started if it does not run.
        func connection() async throws -> Connection {
            if let current, !current.isEnded { return current }
            let task = launching ?? Task {
                defer { launching = nil }
                let connection = try await Connection.launch(program)
                current = connection
                return connection
            }
            launching = task
            return try await task.value
        }
    }
    // end

    static func repeated<Asked: Interface, Value>(
        _ helper: Helper, as interface: Asked.Type, _ body: @Sendable (Remote<Asked>) async throws -> Value
    ) async throws -> Value {
        // Failures.md: which errors
        func isWorthAnotherTry(_ error: ConnectionError) -> Bool {
            switch error.code {
            case .notSent, .notDelivered, .closed, .outcomeUnknown: true
            default: false
            }
        }
        // end

        // Failures.md: repeated call
        func call<I: Interface, Result>(
            _ helper: Helper, as interface: I.Type, _ body: @Sendable (Remote<I>) async throws -> Result
        ) async throws -> Result {
            for _ in 1..<3 {
                do {
                    return try await body(helper.connection().root(as: interface))
                } catch let error as ConnectionError where isWorthAnotherTry(error) {
                    continue
                }
            }
            return try await body(helper.connection().root(as: interface))
        }
        // end

        return try await call(helper, as: interface, body)
    }

    static func close() async throws {
        // Failures.md: close
        let worker = try await Connection.launch("worker")
        await worker.close()
        print(worker.child?.exitStatus ?? .unknown)
        // end
    }

    static func watch(_ connection: Connection) async {
        // Failures.md: end
        switch await connection.ended {
        case .closedHere, .closedByPeer: print("done")
        case .lost(.signalled(let signal)?): print("the worker was ended by signal \(signal)")
        case let end: print("\(end)")
        }
        // end
    }

    static func printing() -> Connection.Configuration {
        var configuration = Connection.Configuration()
        // Failures.md: events
        configuration.onEvent = { event in print(event) }
        // end
        return configuration
    }
}
