import ArchiveFixtures
import Foundation
import TestSupport
import Testing

@Suite("What the JSON of a typedstream may say, and what the tool writes at most")
struct TypedStreamTreeTests {
    private typealias Bytes = TypedStreamBytes

    private let scratch: TemporaryFolder

    init() throws { scratch = try TemporaryFolder() }

    private func write(_ bytes: [UInt8], _ name: String) throws -> String {
        let path = scratch.path(name)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    private func convert(_ json: String, to name: String) async throws -> Program.Outcome {
        let source = try write(Array(json.utf8), "a.json")
        return try await Program.run(
            "distant", ["convert", "--to", "typedstream", source, scratch.path(name)], in: scratch)
    }

    private static func json(_ types: String, _ values: String, _ more: String = "", labels: String = "") -> String {
        "{\"version\":4,\"order\":\"little\",\"system\":1000,\"groups\":[{\"types\":[\"\(types)\"],"
            + "\"values\":[\(values)]}],\"labels\":[\(labels)]\(more)}"
    }

    @Test("A value that its type cannot have is an error that names the place and what was expected")
    func valuesInTypedStreamTree() async throws {
        let value = "at groups[0].values[0]"
        for (json, reason, place) in [
            (Self.json("i", "1e3"), "expected an integer from -2147483648 to 2147483647, as the type “i” has", value),
            (Self.json("i", "1.5"), "expected an integer", value),
            (Self.json("i", "99999999999"), "expected an integer", value),
            (Self.json("c", "128"), "expected an integer from -128 to 127", value),
            (Self.json("C", "-1"), "expected an integer from 0 to 255", value),
            (Self.json("S", "65536"), "expected an integer from 0 to 65535", value),
            (Self.json("q", "9223372036854775808"), "expected an integer", value),
            (Self.json("Q", "18446744073709551616"), "expected an integer", value),
            (Self.json("i", "\"7\""), "expected an integer", value),
            (Self.json("!", "7"), "expected {\"!\": null}", value),
            (Self.json("[2s]", "{\"array\":[1,2],\"of\":\"i\"}"), "expected the type of the elements", "\(value).of"),
            (Self.json("[2s]", "{\"array\":[1,2]}"), "expected the type of the elements", value),
            (
                Self.json("[2c]", "{\"bytes\":\"0102\",\"of\":\"C\"}"), "expected the type of the elements",
                "\(value).of"
            ),
            (Self.json("[5!]", "{\"array\":4,\"of\":\"!\"}"), "or their number, 5", "\(value).array"),
            (Self.json("[5i]", "{\"array\":5,\"of\":\"i\"}"), "which take bytes", "\(value).array"),
            (Self.json("[5!]", "{\"array\":true,\"of\":\"!\"}"), "or their number, 5", "\(value).array"),
            (Self.json("{P=i}", "{\"struct\":\"Q\",\"fields\":[1]}"), "expected the name “P”", value),
            (Self.json("{i}", "{\"struct\":\"Q\",\"fields\":[1]}"), "expected no name", value),
            (Self.json("i", "1", ",\"extra\":1"), "found \"extra\"", "at extra"),
            (Self.json("+", "{\"+\":\"a\",\"-\":1}"), "expected “+” once each, found \"-\"", value),
            (Self.json("+", "{\"+\":\"a\",\"+\":\"b\"}"), "expected “+” once each", value),
            (
                Self.json("i", "1", ",\"numbers\":[[0,8.5]]"), "expected an integer of at most 64 bits",
                "at numbers[0][1]"
            ),
            (Self.json("\u{20AC}", "1"), "expected characters up to U+00FF", "at groups[0].types[0]"),
            (
                Self.json("*", "{\"#\":0}", labels: "{\"cstring\":\"a\",\"class\":null}"),
                "expected one of object, class and cstring", "at labels[0]"
            ),
        ] {
            let outcome = try await convert(json, to: "a.ts")
            #expect(outcome.status == 1, "\(json)")
            #expect(outcome.errors.contains(reason) && outcome.errors.contains(place), "\(json): \(outcome.errors)")
        }
        #expect(!FileManager.default.fileExists(atPath: scratch.path("a.ts")))
    }

    @Test(
        "What a type can have is written: the ends of its range, arrays of nothing as a number or list, and nil names")
    func allowedInTypedStreamTree() async throws {
        for (types, values, bytes) in [
            ("cC", "-128,255", [0x80, 0xFF]),
            ("sS", "-32768,65535", [0x81, 0, 0x80, 0xFF]),
            ("Q", "18446744073709551615", [0xFF]),
            ("[0i][1!]", "{\"array\":[],\"of\":\"i\"},{\"array\":[{\"!\":null}],\"of\":\"!\"}", []),
            ("[0i][1!]", "{\"array\":0,\"of\":\"i\"},{\"array\":1,\"of\":\"!\"}", []),
            ("[9[0{P=@}]]", "{\"array\":9,\"of\":\"[0{P=@}]\"}", []),
            ("%:", "{\"%\":null},{\":\":null}", [0x85, 0x85]),
            ("{i}", "{\"struct\":null,\"fields\":[1]}", [1]),
            ("{\u{E9}=i}", "{\"struct\":{\"hex\":\"e9\"},\"fields\":[1]}", [1]),
        ] as [(String, String, [UInt8])] {
            let outcome = try await convert(Self.json(types, values), to: "b.ts")
            #expect(outcome.status == 0, "\(types): \(outcome.errors)")
            let type = types.unicodeScalars.map { UInt8($0.value) }
            let expected = Bytes.file([0x84] + Bytes.number(type.count) + type, bytes)
            #expect(try Data(contentsOf: URL(fileURLWithPath: scratch.path("b.ts"))) == Data(expected), "\(types)")
        }
    }

    @Test("Types of many values without bytes, and arrays of hardly any, end in an error instead of a huge output")
    func boundedInTypedStreamTree() async throws {
        let type = [UInt8](repeating: UInt8(ascii: "!"), count: 100_000)
        let long = Bytes.file(
            [0x84] + Bytes.number(type.count) + type, Array(repeatElement(Bytes.reference(0), count: 50).joined()))
        let dump = try await Program.run("distant", ["dump", try write(long, "long.ts")], in: scratch)
        #expect(dump.status == 1 && dump.errors.contains("what its objects and types share"), "\(dump.errors)")
        let array = Bytes.file(Bytes.new("[600000{?=[0i]c}]"), [UInt8](repeating: 1, count: 600_000))
        let list = ["convert", "--to", "xml", try write(array, "array.ts"), scratch.path("array.xml")]
        let xml = try await Program.run("distant", list, in: scratch)
        #expect(xml.status == 1 && xml.errors.contains("what its objects and types share"), "\(xml.errors)")
        #expect(!FileManager.default.fileExists(atPath: scratch.path("array.xml")))
    }
}
