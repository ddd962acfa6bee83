import Foundation
import KeyedArchive

/// Archives made by the tests, in Apple's layout and in the compact one.
enum SampleArchives {
    /// Two teams that refer to each other, with one player in both.
    static func teams() throws -> ArchivedGraph {
        var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
        let alex = try graph.add(.value(.string("Alex \"the\n\u{1B}[31mgreat\u{1F600}")))
        let foo = graph.add(
            className: "Foo", fields: [("name", .reference(alex)), ("age", .integer(30)), ("$odd", .bool(true))])
        let players = graph.add(
            className: "NSMutableArray", superclasses: ["NSArray", "NSObject"],
            fields: [("NS.objects", .list([.reference(foo), .reference(0)]))])
        let reds = graph.add(
            className: "Team",
            fields: [("players", .reference(players)), ("rival", .null), ("captain", .reference(foo))])
        let blues = graph.add(
            className: "Team", fields: [("players", .reference(players)), ("rival", .reference(reds))])
        try graph.setValue(.reference(blues), forKey: "rival", of: reds)
        graph.setRoot(.reference(reds), forKey: "root")
        graph.setRoot(try kinds(&graph), forKey: "kinds")
        return graph
    }

    /// An object with a value of each kind of property list value.
    private static func kinds(_ graph: inout ArchivedGraph) throws -> ArchivedValue {
        .reference(
            graph.add(
                className: "Kinds", version: 3,
                fields: [
                    ("b", .integer(.min)), ("a", .unsigned(.max)), ("é", .wide(.max)), ("z", .float(bits: 0x3FC0_0000)),
                    ("double", .double(bits: 0x7FF8_0000_0000_0001)), ("date", .date(bits: (0.5).bitPattern)),
                    ("data", .data(Data([0, 0xAB, 0xFF]))), ("none", .null),
                    (
                        "map",
                        .map([.init(.string("y"), .bool(false)), .init(.string("x"), .list([.string("in line")]))])
                    ),
                ]))
    }

    /// Nodes that refer to the next one; in Apple's layout.
    static func chain(_ count: Int) -> ArchivedGraph {
        var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
        var next = ArchivedValue.null
        for number in 0..<count {
            next = .reference(graph.add(className: "Node", fields: [("n", .integer(Int64(number))), ("next", next)]))
        }
        graph.setRoot(next, forKey: "root")
        return graph
    }

    /// A binary property list in which a list of the same list twice, and so on, would have 2^`levels` leaves.
    static func shared(levels: Int) -> Data {
        let first = 13
        var nodes: [[UInt8]] = [
            [0xD4, 1, 3, 5, 8, 2, 4, 6, 9], text("$archiver"), text("NSKeyedArchiver"), text("$version"),
            [0x12, 0x00, 0x01, 0x86, 0xA0], text("$top"), [0xD1, 7, 11], text("root"), text("$objects"),
            [0xA2, 10, UInt8(first)], text("$null"), [0x80, 0x01], text("leaf"),
        ]
        for level in 0..<levels {
            let next = UInt8(level + 1 < levels ? first + level + 1 : 12)
            nodes.append([0xA2, next, next])
        }
        var bytes = Array("bplist00".utf8)
        var offsets: [UInt8] = []
        for node in nodes {
            offsets += [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)]
            bytes += node
        }
        let table = UInt64(bytes.count)
        bytes += offsets + [0, 0, 0, 0, 0, 0, 2, 1]
        for number in [UInt64(nodes.count), 0, table] { withUnsafeBytes(of: number.bigEndian) { bytes += $0 } }
        return Data(bytes)
    }

    private static func text(_ text: String) -> [UInt8] {
        let count = UInt8(text.utf8.count)
        return (count < 15 ? [0x50 | count] : [0x5F, 0x10, count]) + Array(text.utf8)
    }

    /// A value of each kind that only the compact format has, and an object that refers to itself.
    static func compact() throws -> [UInt8] {
        var graph = ArchivedGraph()
        let node = graph.add(className: "Node", version: 2, fields: [("next", .null), ("name", .string("one"))])
        try graph.setValue(.reference(node), forKey: "next", of: node)
        graph.setRoot(.reference(node), forKey: "root")
        graph.setRoot(
            .list([
                .present(.null), .set([.integer(1)]), .url("a", base: "http://b/"),
                .decimal(digits: "125", exponent: -1),
                .record(graph.record(typeName: "Point", fields: [("y", .integer(2)), ("x", .integer(1))])),
                .map([.init(.integer(7), .string("seven"))]), .unsignedWide(.max),
            ]), forKey: "values")
        return try graph.bytes(format: .compact)
    }
}
