import DistantObjects
import Foundation
import Integrations
import LineSorting
import Logging
import ServiceLifecycle

/// Sorts lines by a worker; sent by reference.
final class SortingService: Vendable, Implements {
    typealias I = SorterInterface

    static var messages: MessageTable<SortingService> {
        Message(\I.sort, SortingService.sort)
        Message(\I.sortFile, SortingService.sortFile)
    }

    private let worker: Remote<SorterInterface>
    private let logger: Logger

    init(_ worker: Remote<SorterInterface>, _ logger: Logger) {
        self.worker = worker
        self.logger = logger
    }

    func sort(_ text: Data) async throws -> Data {
        try await withServedSpan("sort") {
            logger.info("passing \(text.count) bytes to the worker")
            return try await withCallSpan("sort") { try await worker.sort(text) }
        }
    }

    func sortFile(_ path: String) async throws -> Data {
        try await withServedSpan("sortFile") {
            logger.info("passing the path of a file to the worker")
            return try await withCallSpan("sortFile") { try await worker.sortFile(path) }
        }
    }
}

/// Sends the metrics every ten seconds, until the group shuts down.
struct MeterService: Service {
    let meter: ConnectionMeter

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                meter.sample()
                try await Task.sleep(for: .seconds(10))
            }
        }
    }
}
