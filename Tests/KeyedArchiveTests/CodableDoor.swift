import Foundation
import Testing

@testable import KeyedArchive

/// A pair of coders: those of the toolchain, which are the reference, and this library's.
enum CodableDoor: CaseIterable {
    case json
    case binaryPropertyList
    case xmlPropertyList
    case compact
    case message
    case binary
    case xml

    static let propertyLists: Set<CodableDoor> = [.binaryPropertyList, .xmlPropertyList]
    static let ours: Set<CodableDoor> = [.compact, .message, .binary, .xml]
    static let apple: Set<CodableDoor> = [.binary, .xml]

    /// Encodes a value and decodes another one from the result.
    func pass<Value: Decodable>(_ value: some Encodable, as type: Value.Type) throws -> Value {
        switch self {
        case .json: try JSONDecoder().decode(type, from: JSONEncoder().encode(value))
        case .binaryPropertyList: try throughPropertyList(value, .binary)
        case .xmlPropertyList: try throughPropertyList(value, .xml)
        case .compact: try throughArchive(value, .compact)
        case .binary: try throughArchive(value, .binary)
        case .xml: try throughArchive(value, .xml)
        case .message: try throughMessage(value)
        }
    }

    private func throughPropertyList<Value: Decodable>(
        _ value: some Encodable, _ format: PropertyListSerialization.PropertyListFormat
    ) throws -> Value {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = format
        return try PropertyListDecoder().decode(Value.self, from: encoder.encode(value))
    }

    private func throughArchive<Value: Decodable>(_ value: some Encodable, _ format: ArchiveFormat) throws -> Value {
        try KeyedUnarchiver.unarchive(Value.self, from: KeyedArchiver.archive(value, format: format))
    }

    private func throughMessage<Value: Decodable>(_ value: some Encodable) throws -> Value {
        let encoder = ObjectEncoder()
        try encoder.encodeTop(value)
        try encoder.finish()
        var bytes: [UInt8] = []
        encoder.forEachSegment { bytes += $0 }
        let owner = ArchiveBytes(bytes)
        let decoder = try ObjectDecoder(bytes: owner.bytes, owner: owner, shapes: encoder.shapes, handsOutSlices: false)
        return try decoder.decodeTop(Value.self)
    }
}

/// A key with any name.
struct AnyCodingKey: CodingKey, ExpressibleByStringLiteral {
    var stringValue: String
    var intValue: Int?

    init(stringValue: String) { self.stringValue = stringValue }
    init(intValue: Int) {
        self.intValue = intValue
        stringValue = "\(intValue)"
    }
    init(stringLiteral value: String) { stringValue = value }
}

/// A value whose encoding is given as a closure.
struct Written: Encodable {
    let body: (any Encoder) throws -> Void

    init(_ body: @escaping (any Encoder) throws -> Void) { self.body = body }

    func encode(to encoder: any Encoder) throws { try body(encoder) }
}

/// A value whose decoding is given as a closure: what that saw.
struct Observed: Decodable {
    static let body = ThreadValue<@Sendable (any Decoder) throws -> [String]>("observed", fallback: { _ in [] })
    let seen: [String]

    init(from decoder: any Decoder) throws { seen = try Self.body.value(decoder) }
}

/// The result or the error in a form that is the same for all coders.
func seen(_ body: () throws -> Any) -> String {
    do { return "\(try body())" } catch { return describe(error) }
}

func describe(_ error: any Error) -> String {
    func place(_ context: DecodingError.Context) -> String { text(context.codingPath) }
    switch error {
    case DecodingError.typeMismatch(let type, let context): return "typeMismatch(\(type)) at \(place(context))"
    case DecodingError.valueNotFound(let type, let context): return "valueNotFound(\(type)) at \(place(context))"
    case DecodingError.keyNotFound(let key, let context): return "keyNotFound(\(key.stringValue)) at \(place(context))"
    case DecodingError.dataCorrupted(let context): return "dataCorrupted at \(place(context))"
    case EncodingError.invalidValue(_, let context): return "invalidValue at \(text(context.codingPath))"
    default: return "\(type(of: error))"
    }
}

/// A coding path: `[]`, `[a/Index 1]`.
func text(_ path: [any CodingKey]) -> String { "[\(path.map(\.stringValue).joined(separator: "/"))]" }
