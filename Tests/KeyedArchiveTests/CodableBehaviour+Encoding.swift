import Foundation

extension CodableBehaviour {
    private typealias Key = AnyCodingKey

    static let encoding: [CodableBehaviour] = [
        CodableBehaviour(
            description: "The last value for a key counts, and a nested container that is asked for twice is one",
            write: { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(Data(repeating: 7, count: 40_000), forKey: "a")
                try container.encode(["before"], forKey: "b")
                try container.encode("two", forKey: "a")
                var first = container.nestedContainer(keyedBy: Key.self, forKey: "n")
                try first.encode(1, forKey: "x")
                var second = container.nestedContainer(keyedBy: Key.self, forKey: "n")
                try second.encode(2, forKey: "y")
                try first.encode(3, forKey: "z")
                try second.encode(4, forKey: "x")
                var list = container.nestedUnkeyedContainer(forKey: "l")
                try list.encode(1)
                var again = container.nestedUnkeyedContainer(forKey: "l")
                try again.encode(2)
                try list.encode(3)
                _ = container.nestedContainer(keyedBy: Key.self, forKey: "r")
                try container.encode(5, forKey: "r")
                try 1.encode(to: container.superEncoder())
                try 2.encode(to: container.superEncoder())
                var joined = encoder.container(keyedBy: Key.self)
                try joined.encode("three", forKey: "a")
            },
            read: { decoder in
                let container = try decoder.container(keyedBy: Key.self)
                let nested = try container.nestedContainer(keyedBy: Key.self, forKey: "n")
                return [
                    container.allKeys.map(\.stringValue).sorted().joined(),
                    try container.decode(String.self, forKey: "a"),
                    "\(try container.decode([String].self, forKey: "b"))",
                    nested.allKeys.map(\.stringValue).sorted().joined(), "\(try nested.decode(Int.self, forKey: "x"))",
                    "\(try container.decode([Int].self, forKey: "l"))",
                    "\(try container.decode(Int.self, forKey: "r"))",
                    "\(try container.decode(Int.self, forKey: "super"))",
                ]
            },
            expected: ["ablnrsuper", "three", #"["before"]"#, "xyz", "4", "[1, 2, 3]", "5", "2"]),
        CodableBehaviour(
            description: "A container is as it was before a value that could not be encoded",
            write: { encoder in
                var container = encoder.container(keyedBy: Key.self)
                do { try container.encode(Failing(), forKey: "a") } catch {
                    try container.encode(describe(error), forKey: "caught")
                }
                do { try container.encode(["k": [Failing()]], forKey: "b") } catch {
                    try container.encode(describe(error), forKey: "b")
                }
                var list = container.nestedUnkeyedContainer(forKey: "u")
                try list.encode(1)
                try? list.encode(Failing())
                try list.encode(2)
                try container.encode(list.count, forKey: "count")
                _ = list.nestedUnkeyedContainer()
                try? list.encode(Failing())
                try list.encode(["3"])
            },
            read: { decoder in
                let container = try decoder.container(keyedBy: Key.self)
                var list = try container.nestedUnkeyedContainer(forKey: "u")
                return [
                    container.allKeys.map(\.stringValue).sorted().joined(separator: " "),
                    try container.decode(String.self, forKey: "caught"), try container.decode(String.self, forKey: "b"),
                    "\(list.count ?? -1)", "\(try list.decode(Int.self)) \(try list.decode(Int.self))",
                    "\(try list.decode([Int].self)) \(try list.decode([String].self))",
                    "\(try container.decode(Int.self, forKey: "count"))",
                ]
            },
            expected: ["b caught count u", "OwnError", "OwnError", "4", "1 2", #"[] ["3"]"#, "2"],
            // JSONEncoder takes the part that was written for the next value.
            traps: [.json]),
        CodableBehaviour(
            description: "A value that encodes nothing has no keys",
            write: { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(Written { _ in }, forKey: "a")
                _ = container.superEncoder()
                _ = container.superEncoder(forKey: "s")
                _ = container.nestedUnkeyedContainer(forKey: "u")
                try container.encodeIfPresent(Int?.none, forKey: "none")
            },
            read: { decoder in
                let container = try decoder.container(keyedBy: Key.self)
                return [
                    container.allKeys.map(\.stringValue).sorted().joined(separator: " "),
                    seen { try container.nestedContainer(keyedBy: Key.self, forKey: "a").allKeys.count },
                    seen { try container.superDecoder().container(keyedBy: Key.self).allKeys.count },
                    seen { try container.superDecoder(forKey: "s").singleValueContainer().decodeNil() },
                    seen { try container.nestedUnkeyedContainer(forKey: "u").count ?? -1 },
                ]
            },
            expected: ["a s super u", "0", "0", "false", "0"]),
        CodableBehaviour(
            description: "Containers can be written in turn, and after other values",
            write: { encoder in
                var container = encoder.container(keyedBy: Key.self)
                var first = container.nestedContainer(keyedBy: Key.self, forKey: "first")
                var list = container.nestedUnkeyedContainer(forKey: "list")
                try first.encode(1, forKey: "a")
                try list.encode("x")
                var inner = first.nestedContainer(keyedBy: Key.self, forKey: "inner")
                try container.encode("c", forKey: "c")
                var middle = list.nestedUnkeyedContainer()
                try list.encode("y")
                try inner.encode([true], forKey: "flags")
                try middle.encode(2)
                try first.encode(3, forKey: "b")
            },
            read: { decoder in
                let container = try decoder.container(keyedBy: Key.self)
                let first = try container.nestedContainer(keyedBy: Key.self, forKey: "first")
                var list = try container.nestedUnkeyedContainer(forKey: "list")
                let inner = try first.nestedContainer(keyedBy: Key.self, forKey: "inner")
                return [
                    "\(try first.decode(Int.self, forKey: "b"))", try list.decode(String.self),
                    "\(try inner.decode([Bool].self, forKey: "flags"))", "\(try list.decode([Int].self))",
                    try container.decode(String.self, forKey: "c"), "\(try first.decode(Int.self, forKey: "a"))",
                    try list.decode(String.self),
                ]
            },
            expected: ["3", "x", "[true]", "[2]", "c", "1", "y"]),
    ]
}
