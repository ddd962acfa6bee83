import ArgumentParser
import DistantObjects
import Foundation
import Integrations
import LineSorting
import Logging
import ServiceLifecycle
import Subprocess
import Tracing
import UnixSignals

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

@main
struct LineSorter: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "line-sorter", abstract: "Sorts lines in a worker process.",
        subcommands: [Serve.self, Sort.self, Run.self])

    static func main() async {
        InstrumentationSystem.bootstrap(TraceParentInstrument())
        LoggingSystem.bootstrap(StreamLogHandler.standardError, metadataProvider: .trace)
        await main(nil)
    }
}

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Serves at an address until SIGTERM.")

    @Option(
        help: ArgumentHelp("Where to listen: the name of a service, or a path.", valueName: "address"),
        transform: { try ConnectionAddress($0) })
    var at: ConnectionAddress

    @Option(help: ArgumentHelp("How long calls under way may take after SIGTERM.", valueName: "seconds"))
    var grace = 30.0

    func run() async throws {
        let logger = Logger(label: "line-sorter")
        let meter = ConnectionMeter()
        var configuration = Connection.Configuration()
        configuration.log(to: logger)
        meter.measure(&configuration)
        let helper = Helper(SorterInterface.self, "line-sorter-worker")
        let service = SortingService(helper.remote, logger)
        let listener = try Listener(at: at, configuration: configuration)
        // The listener shuts down first: calls under way need the helper.
        let group = ServiceGroup(
            services: [
                HelperService(helper, grace: .seconds(grace)) { logger.log(level: $0.level, "worker: \($0)") },
                ListenerService(listener, grace: .seconds(grace)) { try $0.vend(service) },
                MeterService(meter: meter),
            ], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        logger.notice("listening at \(listener.address)")
        try await group.run()
    }
}

struct Sort: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Sorts the lines of a file by a service.")

    @OptionGroup var service: ServiceOptions

    @Argument(help: "The file.")
    var file: String

    func run() async throws {
        let sorted = try await withConnection(service.open()) { try await Sorting.sort(file, over: $0) }
        FileHandle.standardOutput.write(sorted)
    }
}

struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Sorts the lines of a file by a program that swift-subprocess runs.")

    @Argument(help: "The program, such as line-sorter-worker.")
    var program: String

    @Argument(help: "The file.")
    var file: String

    func run() async throws {
        let (sorted, status) = try await withSubprocess(.path(FilePath(program))) {
            try await Sorting.sort(file, over: $0)
        }
        guard status.isSuccess else { throw ExitCode.failure }
        FileHandle.standardOutput.write(sorted)
    }
}

enum Sorting {
    /// Sorts the lines of a file, in a trace that begins here.
    static func sort(_ file: String, over connection: Connection) async throws -> Data {
        let sorter = try await connection.root(as: SorterInterface.self)
        var context = ServiceContext.topLevel
        context.traceParent = TraceParent()
        return try await ServiceContext.withValue(context) {
            Logger(label: "line-sorter").info("sorting \(file)")
            let text = try Data(contentsOf: URL(fileURLWithPath: file))
            return try await withCallSpan("sort") { try await sorter.sort(text) }
        }
    }
}
