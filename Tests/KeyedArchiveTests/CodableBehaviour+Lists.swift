import Foundation

extension CodableBehaviour {
    private typealias Key = AnyCodingKey

    static let lists: [CodableBehaviour] = [
        CodableBehaviour(
            description: "A list does not move on after an error, and says where its end is",
            write: { encoder in
                var container = encoder.unkeyedContainer()
                try container.encode(1)
                try container.encode("x")
                try container.encodeNil()
            },
            read: { decoder in
                var list = try decoder.unkeyedContainer()
                return [
                    seen { try list.decode(String.self) }, "\(list.currentIndex)",
                    seen { try list.decode(Int.self) },
                    seen { try list.nestedContainer(keyedBy: Key.self) },
                    seen { try list.nestedUnkeyedContainer() }, "\(list.currentIndex)",
                    seen { try list.decodeNil() },
                    seen { try list.decode(String.self) },
                    seen { try list.decode(String.self) },
                    seen { try list.decodeNil() }, "\(list.isAtEnd) \(list.count ?? -1) \(list.currentIndex)",
                    seen { try list.decode(Int.self) },
                    seen { try list.decodeNil() },
                    seen { try list.nestedContainer(keyedBy: Key.self) },
                    seen { try list.decodeIfPresent(Int.self) as Any },
                    "\(list.currentIndex) \((try? list.superDecoder()) == nil)",
                    seen {
                        var again = try decoder.unkeyedContainer()
                        return "\(again.currentIndex) \(try again.decode(Int.self))"
                    },
                ]
            },
            expected: [
                "typeMismatch(String) at [Index 0]", "0", "1", "typeMismatch(Dictionary<String, Any>) at [Index 1]",
                "typeMismatch(Array<Any>) at [Index 1]", "1", "false", "x", "valueNotFound(String) at [Index 2]",
                "true",
                "true 3 3", "valueNotFound(Int) at [Index 3]", "valueNotFound(Never) at [Index 3]",
                "valueNotFound(KeyedDecodingContainer<AnyCodingKey>) at [Index 3]", "nil", "3 true", "0 1",
            ],
            differs: [
                Difference(
                    doors: [.json],
                    expected: [
                        "typeMismatch(String) at [Index 0]", "0", "1",
                        "typeMismatch(Dictionary<String, Any>) at [Index 1]", "typeMismatch(Array<Any>) at [Index 1]",
                        "1", "false", "x", "valueNotFound(String) at [Index 2]", "true", "true 3 3",
                        "valueNotFound(Int) at [Index 3]", "valueNotFound(Never) at [Index 3]",
                        "valueNotFound(KeyedDecodingContainer<AnyCodingKey>) at [Index 3]", "nil", "4 true", "0 1",
                    ], reason: "JSONDecoder moves behind the end after an error there")
            ]),
        CodableBehaviour(
            description: "A copy of a list's container reads on its own",
            write: { encoder in
                var container = encoder.unkeyedContainer()
                try container.encode(contentsOf: [1, 2, 3])
                var nested = container.nestedContainer(keyedBy: Key.self)
                try nested.encode("v", forKey: "k")
            },
            read: { decoder in
                var list = try decoder.unkeyedContainer()
                var seen = ["\(try list.decode(Int.self))"]
                var ahead = list
                while try !ahead.decodeNil(), (try? ahead.decode(Int.self)) != nil {}
                seen.append("\(ahead.currentIndex) \(list.currentIndex) \(try list.decode(Int.self))")
                seen.append("\(try list.decode(Int.self)) \(ahead.currentIndex)")
                let nested = try ahead.nestedContainer(keyedBy: Key.self)
                seen.append("\(try nested.decode(String.self, forKey: "k")) \(ahead.isAtEnd) \(list.isAtEnd)")
                seen.append("\(try list.superDecoder().container(keyedBy: Key.self).allKeys.map(\.stringValue))")
                return seen
            },
            expected: ["1", "3 1 2", "3 3", "v true false", #"["k"]"#]),
        CodableBehaviour(
            description: "The coding path leads from the value to each place in it",
            write: { encoder in
                var container = encoder.container(keyedBy: Key.self)
                let path = Written { encoder in try text(encoder.codingPath).encode(to: encoder) }
                try container.encode(["k": [path]], forKey: "a")
                try container.encode([5: path], forKey: "i")
                try container.encode(path, forKey: "p")
                let parent = container.superEncoder()
                try text(parent.codingPath).encode(to: parent)
                var list = container.nestedUnkeyedContainer(forKey: "u")
                var nested = list.nestedContainer(keyedBy: Key.self)
                try nested.encode(text(nested.codingPath), forKey: "z")
                try nested.encode(path, forKey: "y")
                try list.encode(text(list.codingPath))
                try list.encode(path)
                let last = list.superEncoder()
                try text(last.codingPath).encode(to: last)
            },
            read: { decoder in
                struct Path: Decodable, CustomStringConvertible {
                    let path: [any CodingKey]
                    var description: String { text(path) }
                    init(from decoder: any Decoder) throws { path = try decoder.singleValueContainer().codingPath }
                }
                let container = try decoder.container(keyedBy: Key.self)
                var list = try container.nestedUnkeyedContainer(forKey: "u")
                let nested = try list.nestedContainer(keyedBy: Key.self)
                var seen = [
                    "\(try container.decode([String: [String]].self, forKey: "a"))",
                    "\(try container.decode([Int: String].self, forKey: "i"))",
                    try container.decode(String.self, forKey: "p"),
                    try container.decode(String.self, forKey: "super"),
                    try nested.decode(String.self, forKey: "z"),
                    try nested.decode(String.self, forKey: "y"),
                    try list.decode(String.self),
                    try list.decode(String.self),
                    "\(text(decoder.codingPath)) \(text(container.codingPath)) \(text(list.codingPath))",
                    "\(text(nested.codingPath)) \(try nested.decode(Path.self, forKey: "y"))",
                    "\(try container.decode([String: [Path]].self, forKey: "a"))",
                    "\(try container.decode([Int: Path].self, forKey: "i"))",
                    text(try container.superDecoder().codingPath),
                    "\(try Path(from: container.superDecoder()))",
                ]
                let last = try list.superDecoder()
                seen.append("\(text(last.codingPath)) \(last.codingPath.map { $0.intValue ?? -1 })")
                seen.append(try last.singleValueContainer().decode(String.self))
                return seen
            },
            expected: [
                #"["k": ["[a/k/Index 0]"]]"#, #"[5: "[i/5]"]"#, "[p]", "[super]", "[u/Index 0]", "[u/Index 0/y]", "[u]",
                "[u/Index 2]", "[] [] [u]", "[u/Index 0] [u/Index 0/y]", #"["k": [[a/k/Index 0]]]"#, "[5: [i/5]]",
                "[super]", "[super]", "[u/Index 3] [-1, 3]", "[u/Index 3]",
            ],
            differs: [
                Difference(
                    doors: [.json, .binaryPropertyList, .xmlPropertyList],
                    expected: [
                        #"["k": ["[a/k/Index 0]"]]"#, #"[5: "[i/5]"]"#, "[p]", "[super]", "[u/Index 0]", "[y]", "[u]",
                        "[Index 2]", "[] [] [u]", "[u/Index 0] [u/Index 0/y]", #"["k": [[a/k/Index 0]]]"#,
                        "[5: [i/5]]", "[super]", "[super]", "[u/Index 3] [-1, 3]", "[Index 3]",
                    ], reason: "the toolchain's encoders forget the path to a nested container")
            ]),
    ]
}
