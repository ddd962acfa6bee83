public import Tracing

/// The id of a trace and of a span in it, in the form of the W3C's `traceparent`.
public struct TraceParent: Sendable, Hashable, CustomStringConvertible {
    /// 32 hexadecimal digits, which are the same in all processes of a trace.
    public let traceID: String
    /// 16 hexadecimal digits.
    public let spanID: String

    /// A new trace.
    public init() {
        traceID = Self.digits(16)
        spanID = Self.digits(8)
    }

    /// Reads the text; nil if it has another form.
    public init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == "00", Self.isID(parts[1], 32), Self.isID(parts[2], 16) else { return nil }
        traceID = String(parts[1])
        spanID = String(parts[2])
    }

    /// The text that calls carry.
    public var description: String { "00-\(traceID)-\(spanID)-01" }

    private static func isID(_ text: Substring, _ count: Int) -> Bool {
        text.utf8.count == count && text.allSatisfy { $0.isHexDigit && !$0.isUppercase } && text.contains { $0 != "0" }
    }

    private static func digits(_ count: Int) -> String {
        (0..<count).map { _ in
            let byte = UInt8.random(in: 1...UInt8.max)
            return (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}

/// Passes traces on, and records nothing: in place of a tracing library that has a backend.
public struct TraceParentInstrument: Instrument {
    private static let key = "traceparent"

    /// The instrument.
    public init() {}

    /// Takes the trace of a call, or begins one.
    public func extract<Carrier, Extract>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract: Extractor, Extract.Carrier == Carrier {
        context.traceParent = extractor.extract(key: Self.key, from: carrier).flatMap(TraceParent.init) ?? TraceParent()
    }

    /// Has a call carry the trace of the context.
    public func inject<Carrier, Inject>(_ context: ServiceContext, into carrier: inout Carrier, using injector: Inject)
    where Inject: Injector, Inject.Carrier == Carrier {
        if let parent = context.traceParent { injector.inject("\(parent)", forKey: Self.key, into: &carrier) }
    }
}

private enum TraceParentKey: ServiceContextKey {
    typealias Value = TraceParent
}

extension ServiceContext {
    /// The trace that the code works for.
    public var traceParent: TraceParent? {
        get { self[TraceParentKey.self] }
        set { self[TraceParentKey.self] = newValue }
    }
}
