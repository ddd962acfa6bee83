import DistantObjects
import Tracing

/// Makes a span of the body, and has the calls in it carry its trace.
public func withCallSpan<Result>(_ name: String, _ body: () async throws -> Result) async throws -> Result {
    try await withSpan(name, ofKind: .client) { span in
        var metadata: [String: String] = [:]
        InstrumentationSystem.instrument.inject(span.context, into: &metadata, using: CallMetadata())
        return try await CallContext.with(metadata: metadata, body)
    }
}

/// Makes a span of a method that serves a call, in the trace of its caller.
public func withServedSpan<Result>(_ name: String, _ body: () async throws -> Result) async rethrows -> Result {
    var context = ServiceContext.topLevel
    InstrumentationSystem.instrument.extract(CallContext.current.metadata, into: &context, using: CallMetadata())
    return try await withSpan(name, context: context, ofKind: .server) { _ in try await body() }
}

/// The metadata of a call, as what carries a trace.
private struct CallMetadata: Injector, Extractor {
    func inject(_ value: String, forKey key: String, into metadata: inout [String: String]) { metadata[key] = value }
    func extract(key: String, from metadata: [String: String]) -> String? { metadata[key] }
}
