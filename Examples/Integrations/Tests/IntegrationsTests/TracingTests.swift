import DistantObjects
import Foundation
import InMemoryTracing
import Integrations
import LineSorting
import Testing
import Tracing

@Suite("Metadata and swift-distributed-tracing")
struct TracingTests {
    /// The tracer of the test process, which methods find, too.
    private static let tracer: InMemoryTracer = {
        let tracer = InMemoryTracer()
        InstrumentationSystem.bootstrap(tracer)
        return tracer
    }()

    private actor Traced: Vendable, Implements {
        typealias I = SorterInterface

        static var messages: MessageTable<Traced> {
            Message(\I.sort) { await $0.sort($1) }
            Message(\I.sortFile) { try await $0.sortFile($1) }
        }

        func sort(_ text: Data) async -> Data {
            await withServedSpan("served \(String(decoding: text, as: UTF8.self))") { text }
        }

        func sortFile(_ path: String) throws -> Data { throw SortingError.unreadable(path) }
    }

    @Test("The span of a method is a child of the span of its caller")
    func childSpan() async throws {
        let tracer = Self.tracer
        let (client, server) = try await Connection.pair(first: .patient, second: .patient)
        try server.vend(Traced())
        let remote = try await client.root(as: SorterInterface.self)
        let name = UUID().uuidString
        _ = try await withCallSpan("called \(name)") { try await remote.sort(Data(name.utf8)) }
        // Without a span there is nothing to continue.
        _ = try await remote.sort(Data("alone \(name)".utf8))
        await client.close()
        let spans = tracer.finishedSpans
        let called = try #require(spans.first { $0.operationName == "called \(name)" })
        let served = try #require(spans.first { $0.operationName == "served \(name)" })
        let alone = try #require(spans.first { $0.operationName == "served alone \(name)" })
        #expect(served.traceID == called.traceID && served.parentSpanID == called.spanID)
        #expect(called.kind == .client && served.kind == .server)
        #expect(alone.traceID != called.traceID && alone.parentSpanID == nil)
    }

    @Test("A trace id crosses three processes: tool, service and worker")
    func traceAcrossProcesses() async throws {
        let folder = try TemporaryFolder()
        let socket = folder.path("sorter.sock")
        let service = try RunningProgram("line-sorter", ["serve", "--at", socket], in: folder)
        try await eventually("the service listens: \(service.log)") { service.log.contains("listening at") }
        var lines = RandomLines()
        let text = lines.text(100_000)
        try text.write(to: URL(fileURLWithPath: folder.path("lines")))
        var traces: [String] = []
        for _ in 0..<2 {
            let tool = try RunningProgram("line-sorter", ["sort", "--at", socket, folder.path("lines")], in: folder)
            #expect(await tool.status() == 0, "\(tool.log)")
            #expect(tool.output == text.expectedLines)
            let line = try #require(tool.log.split(separator: "\n").first { $0.contains("sorting") })
            traces.append(String(try #require(line.firstMatch(of: #/trace=([0-9a-f]{32})/#)).1))
        }
        #expect(traces[0] != traces[1])
        for trace in traces {
            let told = service.log.split(separator: "\n").filter { $0.contains("trace=\(trace)") }
            #expect(told.contains { $0.contains("passing \(text.count) bytes to the worker") }, "\(service.log)")
            // The worker's standard error is the service's.
            #expect(told.contains { $0.contains("line-sorter-worker") && $0.contains("sorting \(text.count) bytes") })
        }
        service.terminate()
        #expect(await service.status() == 0, "\(service.log)")
    }

    @Test("A traceparent is read in its form only")
    func traceParentForm() {
        let parent = TraceParent()
        #expect(TraceParent("\(parent)") == parent)
        let id = String(repeating: "a", count: 32)
        let span = String(repeating: "b", count: 16)
        #expect(TraceParent("00-\(id)-\(span)-01")?.traceID == id)
        for text in [
            "", "00-\(id)-\(span)", "01-\(id)-\(span)-01", "00-\(id.uppercased())-\(span)-01", "00-\(id)-\(id)-01",
            "00-\(String(repeating: "0", count: 32))-\(span)-01",
        ] {
            #expect(TraceParent(text) == nil, "\(text)")
        }
    }
}
