import DistantObjects
import Foundation
import Integrations
import LineSorting
import Logging
import Tracing

/// Sorts lines; sent by reference.
final class Sorter: Vendable, Implements {
    typealias I = SorterInterface

    static var messages: MessageTable<Sorter> {
        Message(\I.sort, Sorter.sort)
        Message(\I.sortFile, Sorter.sortFile)
    }

    private let logger: Logger

    init(_ logger: Logger) { self.logger = logger }

    func sort(_ text: Data) async -> Data {
        await withServedSpan("sort") { sorted(text) }
    }

    func sortFile(_ path: String) async throws -> Data {
        try await withServedSpan("sortFile") {
            // A pipe with a name is read to its end, too.
            guard let text = try FileHandle(forReadingAtPath: path)?.readToEnd() else {
                throw SortingError.unreadable(path)
            }
            return sorted(text)
        }
    }

    private func sorted(_ text: Data) -> Data {
        logger.info("sorting \(text.count) bytes")
        return text.withSortedLines
    }
}

@main
struct Worker {
    static func main() async throws {
        InstrumentationSystem.bootstrap(TraceParentInstrument())
        LoggingSystem.bootstrap(StreamLogHandler.standardError, metadataProvider: .trace)
        let logger = Logger(label: "line-sorter-worker")
        var configuration = Connection.Configuration()
        configuration.log(to: logger)
        let connection = try await Connection.parent(configuration: configuration)
        try connection.vend(Sorter(logger))
        _ = await connection.ended
    }
}
