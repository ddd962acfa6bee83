// swift-format-ignore-file
// It is laid out as Failures.md shows it.

import Dispatch
import DistantObjects

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The code of Failures.md.
enum FailuresCode {
    static func mayTryAgain(_ error: ConnectionError) -> Bool {
        // Failures.md: which errors
        func isWorthAnotherTry(_ error: ConnectionError) -> Bool {
            switch error.code {
            case .notSent, .notDelivered, .closed, .outcomeUnknown: true
            default: false
            }
        }
        // end
        return isWorthAnotherTry(error)
    }

    static func close() async throws {
        // Failures.md: close
        let worker = try await Connection.launch("worker")
        await worker.close()
        print(worker.child?.exitStatus ?? .unknown)
        // end
    }

    static func interrupt(_ worker: Connection) async {
        // Failures.md: interrupt
        signal(SIGINT, SIG_IGN)
        let interrupts = DispatchSource.makeSignalSource(signal: SIGINT, queue: .main)
        interrupts.setEventHandler {
            Task {
                await worker.close(timeout: .seconds(1))
                exit(130)
            }
        }
        interrupts.resume()
        defer { interrupts.cancel() }
        // end
        _ = await worker.ended
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
