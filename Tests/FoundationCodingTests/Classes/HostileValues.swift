import Foundation
import KeyedArchive

/// A value to put where a class expects another.
struct HostileValue: Sendable {
    let name: String
    /// Adds what the value consists of to a graph in Apple's layout; the index is that of the object that gets it.
    let add: @Sendable (inout ArchivedGraph, Int) throws -> ArchivedValue

    private static func inline(_ name: String, _ value: ArchivedValue) -> HostileValue {
        HostileValue(name: name) { _, _ in value }
    }

    private static func plain(_ name: String, _ value: ArchivedValue) -> HostileValue {
        HostileValue(name: name) { graph, _ in .reference(try graph.add(.value(value))) }
    }

    private static func object(
        _ type: String, _ name: String? = nil, _ fields: [(key: String, value: ArchivedValue)] = []
    ) -> HostileValue {
        HostileValue(name: name ?? type) { graph, _ in .reference(graph.add(className: type, fields: fields)) }
    }

    /// A collection of one object.
    private static func collection(_ type: String, of content: HostileValue) -> HostileValue {
        HostileValue(name: "\(type) of \(content.name)") { graph, root in
            let element = ArchivedValue.list([try content.add(&graph, root)])
            return .reference(
                graph.add(className: type, fields: [("NS.objects", element), ("NS.keys", element)]))
        }
    }

    private static func real(_ value: Double) -> ArchivedValue { .double(bits: value.bitPattern) }

    private static let digits = ArchivedValue.data(Data(repeating: 0xFF, count: 16))
    private static let text = plain("a text", .string("x"))
    private static let one = plain("a number", .integer(1))

    static let all: [HostileValue] = inlineValues + objects

    private static let inlineValues = [
        inline("nil", .null), inline("no object", .reference(0)), inline("true", .bool(true)),
        inline("0", .integer(0)), inline("1", .integer(1)), inline("-1", .integer(-1)),
        inline("300", .integer(300)), inline("least", .integer(.min)), inline("most", .integer(.max)),
        inline("2^64-1", .unsigned(.max)), inline("NaN", real(.nan)), inline("infinity", real(.infinity)),
        inline("1e300", real(1e300)), inline("text", .string("x")), inline("empty text", .string("")),
        inline("zero byte", .string("a\u{0}b")), inline("half a character", .brokenString([0xD800])),
        inline("numerals", .string("{1, {2")), inline("no bytes", .data(Data())),
        inline("bytes", .data(Data([0xFF, 0xFF, 0xFF, 0x7F, 1]))), inline("16 bytes", digits),
        inline("date", .date(bits: Double.nan.bitPattern)), inline("list", .list([.integer(1), .string("x")])),
        inline("map", .map([.init(.string("k"), .integer(1))])),
        HostileValue(name: "itself") { _, root in .reference(root) },
    ]

    private static let objects = [
        text, one, plain("NaN as an object", real(.nan)), plain("true as an object", .bool(true)),
        plain("bytes as an object", .data(Data([1, 2, 3]))), object("NSNull"), object("NSArray"),
        collection("NSArray", of: text), collection("NSArray", of: inline("nil", .reference(0))),
        collection("NSSet", of: collection("NSArray", of: one)), collection("NSDictionary", of: one),
        collection("NSDictionary", of: text),
        object(
            "NSDecimalNumber", nil,
            [
                ("NS.mantissa", digits), ("NS.length", .integer(8)), ("NS.exponent", .integer(127)),
                ("NS.negative", .bool(true)),
            ]),
        object("NSDecimalNumber", "no decimal", [("NS.string", .string("x"))]),
        object("NSMutableString", nil, [("NS.string", .string("m"))]),
        object("NSMutableData", nil, [("NS.data", .data(Data([9])))]),
        object("NSURL", nil, [("NS.relative", .string("x"))]), object("NSDate", nil, [("NS.time", real(.nan))]),
        object("NSUnit", nil, [("NS.symbol", .string("u"))]), object("NSOrthography"),
        object("Nobody", "unknown class", [("k", .integer(1))]),
    ]
}
