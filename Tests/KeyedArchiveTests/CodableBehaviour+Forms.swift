import Foundation

extension CodableBehaviour {
    private typealias Key = AnyCodingKey

    private static let id = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))

    private enum Suit: String, Codable, CodingKeyRepresentable { case hearts, spades }

    private enum Shape: Codable, Equatable {
        case empty
        case circle(radius: Double)
        case polygon([Int], name: String?)
    }

    static let forms: [CodableBehaviour] = [
        CodableBehaviour(
            description: "A value is read in the form that its own encode(to:) writes",
            write: { encoder in
                var list = encoder.unkeyedContainer()
                try id.encode(to: list.superEncoder())
                try ["a": 1].encode(to: list.superEncoder())
                try [1: 1].encode(to: list.superEncoder())
                try [id: 1].encode(to: list.superEncoder())
                try [Suit.hearts: 1].encode(to: list.superEncoder())
                try Set([1]).encode(to: list.superEncoder())
                try Int?.some(3).encode(to: list.superEncoder())
                try Int?.none.encode(to: list.superEncoder())
                try list.encode(["a": 1])
                try list.encode([1: 1])
                try list.encode([Suit.hearts: 1])
            },
            read: { decoder in
                var list = try decoder.unkeyedContainer()
                return [
                    seen { try list.decode(UUID.self) == id },
                    seen { try list.decode([String: Int].self) },
                    seen { try list.decode([Int: Int].self) },
                    seen { try list.decode([UUID: Int].self) == [id: 1] },
                    seen { try list.decode([Suit: Int].self) == [.hearts: 1] },
                    seen { try list.decode(Set<Int>.self) },
                    seen { try list.decode(Int?.self) as Any },
                    seen { try list.decode(Int?.self) as Any },
                    seen { try [String: Int](from: list.superDecoder()) },
                    seen { try [Int: Int](from: list.superDecoder()) },
                    seen { try list.nestedContainer(keyedBy: Key.self).decode(Int.self, forKey: "hearts") },
                ]
            },
            expected: [
                "true", #"["a": 1]"#, "[1: 1]", "true", "true", "[1]", "Optional(3)", "nil", #"["a": 1]"#, "[1: 1]",
                "1",
            ]),
        CodableBehaviour(
            description: "URLs and decimals are read in the form that their own encode(to:) writes",
            write: { encoder in
                var list = encoder.unkeyedContainer()
                try URL(string: "http://a/b")?.encode(to: list.superEncoder())
                try Decimal(1.5).encode(to: list.superEncoder())
            },
            read: { decoder in
                var list = try decoder.unkeyedContainer()
                return [seen { try list.decode(URL.self) }, seen { try list.decode(Decimal.self) }]
            },
            expected: ["http://a/b", "1.5"],
            differs: [
                Difference(
                    doors: [.json],
                    expected: ["typeMismatch(String) at [Index 0]", "typeMismatch(Decimal) at [Index 0]"],
                    reason: "JSONDecoder reads a URL from a string only, and does not move on")
            ]),
        CodableBehaviour(
            description: "A value that has a form of its own in archives is not read as a string",
            write: { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(id, forKey: "id")
            },
            read: { decoder in
                let container = try decoder.container(keyedBy: Key.self)
                return [
                    seen { try container.decode(String.self, forKey: "id") == id.uuidString },
                    seen { try container.decode(UUID.self, forKey: "id") == id },
                ]
            },
            expected: ["true", "true"],
            differs: [
                Difference(
                    doors: [.compact, .message], expected: ["typeMismatch(String) at [id]", "true"],
                    reason: "CodableTypes: values keep their kind")
            ]),
        CodableBehaviour(
            description: "Enumerations with and without associated values come back",
            write: { encoder in
                try [Shape.empty, .circle(radius: 1.5), .polygon([1, 2], name: nil), .polygon([], name: "n")]
                    .encode(to: encoder)
            },
            read: { decoder in
                let shapes = try [Shape](from: decoder)
                struct Two: Decodable {
                    init(from decoder: any Decoder) throws { _ = try Shape(from: decoder) }
                }
                return [
                    "\(shapes == [.empty, .circle(radius: 1.5), .polygon([1, 2], name: nil), .polygon([], name: "n")])",
                    seen { try decoder.singleValueContainer().decode([Shape].self).count },
                ]
            },
            expected: ["true", "4"]),
        CodableBehaviour(
            description: "An optional in an optional",
            write: { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(Int??.some(nil), forKey: "a")
                try container.encode(Int??.some(5), forKey: "b")
            },
            read: { decoder in
                let container = try decoder.container(keyedBy: Key.self)
                return [
                    seen { try container.decode(Int??.self, forKey: "a") as Any },
                    seen { try container.decode(Int??.self, forKey: "b") as Any },
                    seen { try container.decodeIfPresent(Int.self, forKey: "b") as Any },
                ]
            },
            expected: ["nil", "Optional(Optional(5))", "Optional(5)"],
            differs: [
                Difference(
                    doors: [.compact, .message],
                    expected: ["Optional(nil)", "Optional(Optional(5))", "typeMismatch(Int) at [b]"],
                    reason: "CodableTypes: the outer and the inner nil are different values"),
                Difference(
                    doors: CodableDoor.apple, expected: ["Optional(nil)", "Optional(Optional(5))", "Optional(5)"],
                    reason: "CodableTypes: the outer and the inner nil are different values"),
            ]),
    ]
}
