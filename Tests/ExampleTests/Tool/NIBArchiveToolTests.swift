import ArchiveFixtures
import Foundation
import TestSupport
import Testing

@Suite("distant with NIBArchives")
struct NIBArchiveToolTests {
    private let scratch: TemporaryFolder

    init() throws {
        scratch = try TemporaryFolder()
    }

    private func run(_ arguments: [String]) async throws -> Program.Outcome {
        try await Program.run("distant", arguments, in: scratch)
    }

    @Test("check, dump and JSON show a NIBArchive, lists without their common key in the tree")
    func mixedInNIBArchiveTool() async throws {
        let path = scratch.path("a.nib")
        try Data(NIBArchiveBytes.mixed).write(to: URL(fileURLWithPath: path))
        let check = try await run(["check", path])
        #expect(check.output == "\(path): good: NIBArchive, coder 9, 3 objects, 3 classes\n")
        let tree = try await run(["dump", path])
        #expect(
            tree.output == """
                NIBArchive, coder 9, 3 objects, 3 classes

                root: NSObject
                  a: -1
                  a: 256
                  a: -2147483648
                  a: 7
                  a: false
                  a: true
                  a: 1.0
                  a: nan
                  a: <0102> (2 bytes)
                  a: nil
                  root: NSArray
                    0: "é"
                    1: "é"
                    2: nil

                classes:
                  NSObject (1)
                  NSArray (1)

                """)
        let json = try await run(["dump", "--json", path])
        #expect(
            json.output == """
                {"nibArchive":1,"coder":9,"classes":[
                {"name":"NSObject","fallbacks":[]},
                {"name":"NSArray","fallbacks":[0]},
                {"name":"NSString","fallbacks":[]}
                ],"objects":[
                {"class":0,"fields":[["a",{"int8":-1}],["a",{"int16":256}],["a",{"int32":-2147483648}],["a",{"int64":7}],\
                ["a",false],["a",true],["a",{"float":"3f800000"}],["a",{"double":"7ff8000000000000"}],["a",{"data":"0102"}],\
                ["a",null],["root",{"ref":1}]]},
                {"class":1,"fields":[["NSInlinedValue",true],["UINibEncoderEmptyKey",{"ref":2}],\
                ["UINibEncoderEmptyKey",{"ref":2}],["UINibEncoderEmptyKey",null]]},
                {"class":2,"fields":[["NS.bytes",{"data":"c3a9"}]]}
                ]}

                """)
        let compact = try await run(["convert", "--to", "compact", path, scratch.path("x")])
        #expect(compact.status == 1 && compact.errors.contains("binary, xml or json only"), "\(compact.errors)")
    }

    @Test("A NIBArchive becomes a property list with everything in it, keys that occur several times as well")
    func propertyListsInNIBArchiveTool() async throws {
        for archive in try Fixtures.nibArchives() {
            let (path, json) = (scratch.path(archive.name), scratch.path("a.json"))
            try archive.data.write(to: URL(fileURLWithPath: path))
            #expect(try await run(["convert", "--to", "json", path, json]).status == 0)
            let whole = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: json)))
            for format in ["xml", "binary"] {
                let list = scratch.path("a.\(format)")
                let outcome = try await run(["convert", "--to", format, path, list])
                #expect(outcome.status == 0, "\(archive.name): \(outcome.errors)")
                let read = try PropertyListSerialization.propertyList(
                    from: Data(contentsOf: URL(fileURLWithPath: list)), format: nil)
                #expect(Self.isSame(read, whole), "\(archive.name) as \(format)")
                let check = try await run(["check", list])
                #expect(check.output.contains("the property list of a NIBArchive, which nothing reads"))
            }
        }
    }

    /// Whether a property list has the content of JSON.
    private static func isSame(_ list: Any, _ json: Any, _ key: String = "") -> Bool {
        switch json {
        case let json as [String: Any]:
            guard let list = list as? [String: Any], list.count == json.count else { return false }
            return json.allSatisfy { key, value in list[key].map { isSame($0, value, key) } ?? false }
        case let json as [Any]:
            guard let list = list as? [Any], list.count == json.count else { return false }
            return zip(list, json).allSatisfy { isSame($0, $1) }
        case is NSNull: return (list as? [String: Any])?.isEmpty == true
        case let json as String:
            switch key {
            case "data", "hex": return (list as? Data)?.map { hex(UInt64($0), 2) }.joined() == json
            case "float":
                guard let value = list as? Double else { return false }
                return value.isNaN || hex(UInt64(Float(value).bitPattern), 8) == json
            case "double":
                guard let value = list as? Double else { return false }
                return value.isNaN || hex(value.bitPattern, 16) == json
            default: return list as? String == json
            }
        case let json as NSNumber: return (list as? NSNumber) == json
        default: return false
        }
    }

    private static func hex(_ bits: UInt64, _ digits: Int) -> String {
        let text = String(bits, radix: 16)
        return String(repeating: "0", count: digits - text.count) + text
    }

    @Test("An archive without objects prints as a tree and as JSON")
    func noObjectsInNIBArchiveTool() async throws {
        let path = scratch.path("none.nib")
        let none = NIBArchiveBytes.Table([])
        try Data(NIBArchiveBytes.file(objects: none, classes: none)).write(to: URL(fileURLWithPath: path))
        for arguments in [
            ["dump", path], ["dump", "--json", path], ["convert", "--to", "json", path, path + ".json"],
        ] {
            let outcome = try await run(arguments)
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(arguments): \(outcome.errors)")
        }
    }

    @Test("Each NIBArchive is good, prints as a tree, and its JSON has what a reader in Python finds")
    func othersInNIBArchiveTool() async throws {
        let paths = try Fixtures.write(Fixtures.nibArchives(), into: scratch.path("good"))
        let check = try await run(["check"] + paths)
        #expect(check.status == 0, "\(check.output)")
        for path in paths {
            let tree = try await run(["dump", path])
            #expect(tree.status == 0 && tree.errors.isEmpty, "\(path): \(tree.errors)")
            let json = try await run(["convert", "--to", "json", path, path + ".json"])
            #expect(json.status == 0, "\(path): \(json.errors)")
        }
        let pythons = ["/usr/bin/python3", "/usr/local/bin/python3", "/opt/homebrew/bin/python3"]
        guard let python = pythons.first(where: FileManager.default.isExecutableFile) else {
            // Then only the comparison with the other reader is missing.
            print("python3 is not here: no NIBArchive was compared with what it reads")
            return
        }
        let outcome = try await Program.run(python, ["-c", Self.comparison] + paths, in: scratch)
        #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
        #expect(outcome.output.contains("\(paths.count) archives agree"), "\(outcome.output)")
    }

    @Test("Broken NIBArchives are bad, with the byte where they break")
    func brokenInNIBArchiveTool() async throws {
        let paths = try Fixtures.write(Fixtures.brokenNIBArchives(), into: scratch.path("broken"))
        let outcome = try await run(["check"] + paths)
        let lines = outcome.output.split(separator: "\n")
        #expect(outcome.status == 1 && lines.count == paths.count)
        #expect(lines.allSatisfy { $0.contains(": bad: ") && $0.contains(", at byte ") }, "\(outcome.output)")
    }

    /// Reads archives table by table, and compares them with their JSON.
    private static let comparison = """
        import json, struct, sys

        def varint(b, p):
            value = shift = 0
            while True:
                c = b[p]; p += 1
                value |= (c & 127) << shift; shift += 7
                if c & 128: return value, p

        def text(b):
            try: return b.decode()
            except UnicodeDecodeError: return {"hex": b.hex()}

        SIZES = {0: ("int8", "<b"), 1: ("int16", "<h"), 2: ("int32", "<i"), 3: ("int64", "<q"), 10: ("ref", "<I")}

        def load(b):
            coder, oc, op, kc, kp, vc, vp, cc, cp = struct.unpack("<9I", b[14:50])
            keys, values, classes, objects = [], [], [], []
            for _ in range(kc):
                n, kp = varint(b, kp); keys.append(text(b[kp:kp + n])); kp += n
            for _ in range(vc):
                k, vp = varint(b, vp); t = b[vp]; vp += 1
                if t in SIZES:
                    name, form = SIZES[t]
                    v = {name: struct.unpack_from(form, b, vp)[0]}; vp += struct.calcsize(form)
                elif t in (4, 5, 9): v = {4: False, 5: True, 9: None}[t]
                elif t == 6: v = {"float": b[vp:vp + 4][::-1].hex()}; vp += 4
                elif t == 7: v = {"double": b[vp:vp + 8][::-1].hex()}; vp += 8
                else:
                    n, vp = varint(b, vp); v = {"data": b[vp:vp + n].hex()}; vp += n
                values.append([keys[k], v])
            for _ in range(cc):
                n, cp = varint(b, cp); f, cp = varint(b, cp)
                fallbacks = list(struct.unpack_from("<%di" % f, b, cp)); cp += 4 * f
                classes.append({"name": text(b[cp:cp + n - 1]), "fallbacks": fallbacks}); cp += n
            for _ in range(oc):
                c, op = varint(b, op); first, op = varint(b, op); n, op = varint(b, op)
                objects.append({"class": c, "fields": values[first:first + n]})
            return {"nibArchive": 1, "coder": coder, "classes": classes, "objects": objects}

        agreed = 0
        for path in sys.argv[1:]:
            if load(open(path, "rb").read()) == json.load(open(path + ".json")): agreed += 1
            else: print(path, "differs")
        print(agreed, "archives agree")
        sys.exit(0 if agreed == len(sys.argv) - 1 else 1)
        """
}
