import Foundation

extension CodableBehaviour {
    private typealias Key = AnyCodingKey

    static let decoding: [CodableBehaviour] = [
        CodableBehaviour(
            description: "A missing key and a value of another kind are errors of the kinds that the protocols name",
            write: { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(1, forKey: "a")
            },
            read: { decoder in
                let container = try decoder.container(keyedBy: Key.self)
                return [
                    seen { try container.decode(Int.self, forKey: "z") },
                    seen { try container.decode(Int?.self, forKey: "z") as Any },
                    seen { try container.decodeNil(forKey: "z") },
                    seen { try container.nestedContainer(keyedBy: Key.self, forKey: "z") },
                    seen { try container.nestedUnkeyedContainer(forKey: "z") },
                    seen { try container.decodeIfPresent(Int.self, forKey: "z") as Any },
                    seen { try container.decode(String.self, forKey: "a") },
                    seen { try container.decode(Bool.self, forKey: "a") },
                    seen { try container.decode([Int].self, forKey: "a") },
                    seen { try container.decode([String: Int].self, forKey: "a") },
                    seen { try container.nestedContainer(keyedBy: Key.self, forKey: "a") },
                    seen { try container.decodeIfPresent(String.self, forKey: "a") as Any },
                    seen { try container.decode(Int.self, forKey: "a") },
                    seen { container.contains("z") || !container.contains("a") },
                ]
            },
            expected: [
                "keyNotFound(z) at []", "keyNotFound(z) at []", "keyNotFound(z) at []", "keyNotFound(z) at []",
                "keyNotFound(z) at []", "nil", "typeMismatch(String) at [a]", "typeMismatch(Bool) at [a]",
                "typeMismatch(Array<Any>) at [a]", "typeMismatch(Dictionary<String, Any>) at [a]",
                "typeMismatch(Dictionary<String, Any>) at [a]", "typeMismatch(String) at [a]", "1", "false",
            ],
            differs: [
                Difference(
                    doors: apple,
                    expected: [
                        "keyNotFound(z) at []", "keyNotFound(z) at []", "keyNotFound(z) at []", "keyNotFound(z) at []",
                        "keyNotFound(z) at []", "nil", "typeMismatch(String) at [a]", "true",
                        "typeMismatch(Array<Any>) at [a]", "typeMismatch(Dictionary<String, Any>) at [a]",
                        "typeMismatch(Dictionary<String, Any>) at [a]", "typeMismatch(String) at [a]", "1", "false",
                    ], reason: "AppleFormat: 0 and 1 are read as truth values, as some archivers write them")
            ]),
        CodableBehaviour(
            description: "Nil is a value that is not found, unless an optional is asked for",
            write: { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try container.encodeNil(forKey: "n")
                try container.encode([1, nil, 3] as [Int?], forKey: "l")
            },
            read: { decoder in
                let container = try decoder.container(keyedBy: Key.self)
                return [
                    seen { try container.decode(Int.self, forKey: "n") },
                    seen { try container.decode(String.self, forKey: "n") },
                    seen { try container.decode([Int].self, forKey: "n") },
                    seen { try container.decode([String: Int].self, forKey: "n") },
                    seen { try container.nestedContainer(keyedBy: Key.self, forKey: "n") },
                    seen { try container.nestedUnkeyedContainer(forKey: "n") },
                    seen { try container.decode([Int].self, forKey: "l") },
                    seen { container.contains("n") },
                    seen { try container.decodeNil(forKey: "n") },
                    seen { try container.decodeIfPresent(Int.self, forKey: "n") as Any },
                    seen { try container.decode(Int?.self, forKey: "n") as Any },
                    seen { try container.superDecoder(forKey: "n").container(keyedBy: Key.self) },
                    seen { try container.superDecoder(forKey: "n").unkeyedContainer() },
                    seen { try container.superDecoder(forKey: "n").singleValueContainer().decode(Int.self) },
                    seen { try container.decode([Int?].self, forKey: "l") },
                ]
            },
            expected: [
                "valueNotFound(Int) at [n]", "valueNotFound(String) at [n]", "valueNotFound(Array<Any>) at [n]",
                "valueNotFound(Dictionary<String, Any>) at [n]", "valueNotFound(Dictionary<String, Any>) at [n]",
                "valueNotFound(Array<Any>) at [n]", "valueNotFound(Int) at [l/Index 1]", "true", "true", "nil", "nil",
                "valueNotFound(Dictionary<String, Any>) at [n]", "valueNotFound(Array<Any>) at [n]",
                "valueNotFound(Int) at [n]", "[Optional(1), nil, Optional(3)]",
            ]),
        CodableBehaviour(
            description: "A super decoder for a missing key decodes nil",
            write: { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(1, forKey: "a")
            },
            read: { decoder in
                let container = try decoder.container(keyedBy: Key.self)
                return [
                    seen { try container.superDecoder().singleValueContainer().decodeNil() },
                    seen { try container.superDecoder(forKey: "z").container(keyedBy: Key.self) },
                    seen { text(try container.superDecoder(forKey: "z").codingPath) },
                ]
            },
            expected: ["true", "valueNotFound(Dictionary<String, Any>) at [z]", "[z]"]),
        CodableBehaviour(
            description: "All kinds of containers of one value can be asked for, in any order and several times",
            write: { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try container.encode("x", forKey: "a")
            },
            read: { decoder in
                let container = try decoder.container(keyedBy: Key.self)
                return [
                    seen { try decoder.unkeyedContainer() },
                    seen { try decoder.singleValueContainer().decode(Int.self) },
                    seen { try decoder.singleValueContainer().decode([String: String].self) },
                    seen { try decoder.singleValueContainer().decodeNil() },
                    seen { try decoder.container(keyedBy: Key.self).decode(String.self, forKey: "a") },
                    seen { try decoder.singleValueContainer().decode([Int].self) },
                    seen { try container.decode(String.self, forKey: "a") },
                    seen { try [String: String](from: decoder) },
                    seen { container.allKeys.map(\.stringValue) },
                ]
            },
            expected: [
                "typeMismatch(Array<Any>) at []", "typeMismatch(Int) at []", #"["a": "x"]"#, "false", "x",
                "typeMismatch(Array<Any>) at []", "x", #"["a": "x"]"#, #"["a"]"#,
            ]),
        CodableBehaviour(
            description: "Numbers are converted if they fit, and are corrupt if they do not",
            write: { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(300, forKey: "300")
                try container.encode(2.0, forKey: "2.0")
                try container.encode(2.5, forKey: "2.5")
                try container.encode(-1, forKey: "-1")
                try container.encode(UInt64.max, forKey: "max")
                try container.encode(true, forKey: "true")
                try container.encode("12", forKey: "12")
            },
            read: { decoder in
                let container = try decoder.container(keyedBy: Key.self)
                return [
                    seen { try container.decode(Int8.self, forKey: "300") },
                    seen { try container.decode(Int16.self, forKey: "300") },
                    seen { try container.decode(Double.self, forKey: "300") },
                    seen { try container.decode(Int.self, forKey: "2.0") },
                    seen { try container.decode(Float.self, forKey: "2.5") },
                    seen { try container.decode(Int.self, forKey: "2.5") },
                    seen { try container.decode(UInt.self, forKey: "-1") },
                    seen { try container.decode(Int.self, forKey: "max") },
                    seen { try container.decode(UInt64.self, forKey: "max") },
                    seen { try container.decode(Int.self, forKey: "12") },
                    seen { try container.decode(Double.self, forKey: "true") },
                ]
            },
            expected: [
                "dataCorrupted at [300]", "300", "300.0", "2", "2.5", "dataCorrupted at [2.5]", "dataCorrupted at [-1]",
                "dataCorrupted at [max]", "18446744073709551615", "typeMismatch(Int) at [12]",
                "typeMismatch(Double) at [true]",
            ],
            differs: [
                Difference(
                    doors: [.json],
                    expected: [
                        "JSONError", "300", "300.0", "2", "2.5", "JSONError", "JSONError", "JSONError",
                        "18446744073709551615", "typeMismatch(Int) at [12]", "typeMismatch(Double) at [true]",
                    ],
                    reason: "JSONDecoder throws an error that is not public until the outermost call replaces it")
            ]),
        CodableBehaviour(
            description: "A type can try one kind of value, and read another after the error",
            write: { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try container.encode("x", forKey: "text")
                try container.encode(5, forKey: "integer")
                try container.encode(["x", "7"], forKey: "texts")
                try container.encode(["k": ["y"]], forKey: "nested")
            },
            read: { decoder in
                let container = try decoder.container(keyedBy: Key.self)
                return [
                    seen { try container.decode([IntegerOrText].self, forKey: "texts") },
                    seen { try container.decode(IntegerOrText.self, forKey: "text") },
                    seen { try container.decode(IntegerOrText.self, forKey: "integer") },
                    seen { try container.decode([String: [IntegerOrText]].self, forKey: "nested") },
                ]
            },
            expected: ["[text x, text 7]", "text x", "integer 5", #"["k": [text y]]"#]),
        CodableBehaviour(
            description: "An error of a type's own code reaches the types around it as it is",
            write: { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(["k": [1]], forKey: "a")
            },
            read: { decoder in
                struct Own: Decodable {
                    init(from decoder: any Decoder) throws { throw OwnError() }
                }
                struct Corrupt: Decodable {
                    init(from decoder: any Decoder) throws {
                        throw DecodingError.dataCorrupted(
                            .init(codingPath: decoder.codingPath, debugDescription: "own text"))
                    }
                }
                let container = try decoder.container(keyedBy: Key.self)
                func own(_ body: () throws -> Any) -> String {
                    do { return "\(try body())" } catch DecodingError.dataCorrupted(let context) {
                        return context.debugDescription
                    } catch {
                        return describe(error)
                    }
                }
                return [
                    seen { try container.decode([String: [Own]].self, forKey: "a") },
                    seen { try container.decode([String: [Corrupt]].self, forKey: "a") },
                    own { try container.decode([String: [Corrupt]].self, forKey: "a") },
                    seen { try container.decode([String: [Int]].self, forKey: "a") },
                ]
            },
            expected: ["OwnError", "dataCorrupted at [a/k/Index 0]", "own text", #"["k": [1]]"#]),
    ]
}

private let apple = CodableDoor.apple
