import ArchiveFixtures
import Foundation
import TestSupport
import Testing

@Suite("distant with archives of other programs, or with generated ones")
struct ToolFixtureTests {
    private let scratch: TemporaryFolder

    init() throws {
        scratch = try TemporaryFolder()
    }

    /// The paths of copies of the archives.
    private func real() throws -> [String] {
        try Fixtures.write(Fixtures.real().map(\.archive), into: scratch.path("real"))
    }

    @Test("Each real archive is valid")
    func checkInToolFixture() async throws {
        let paths = try real()
        #expect(Fixtures.isCount(paths.count, ofOthers: 144, own: 100))
        let outcome = try await Program.run("distant", ["check"] + paths, in: scratch)
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output.split(separator: "\n").count == paths.count)
    }

    @Test("Each real archive prints as a tree")
    func trees() async throws {
        for path in try real() {
            let outcome = try await Program.run("distant", ["dump", path], in: scratch)
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(path): \(outcome.errors)")
            #expect(outcome.output.split(separator: "\n").count > 1, "\(path)")
        }
    }

    @Test("The JSON of each real archive equals that of its XML, and other readers of XML and property lists agree")
    func jsonInToolFixture() async throws {
        let counts = Dictionary(uniqueKeysWithValues: try Fixtures.real().map { ($0.name, $0.objectCount) })
        var pairs: [String] = []
        var files: [String] = []
        for (number, path) in try real().enumerated() {
            let (target, xml, after) = (
                scratch.path("\(number).json"), scratch.path("\(number).xml"), scratch.path("x")
            )
            for (format, from, to) in [("json", path, target), ("xml", path, xml), ("json", xml, after)] {
                let outcome = try await Program.run("distant", ["convert", "--to", format, from, to], in: scratch)
                #expect(outcome.status == 0, "\(path): \(outcome.errors)")
            }
            // The way over XML changes nothing.
            #expect(FileManager.default.contentsEqual(atPath: target, andPath: after), "\(path)")
            let data = try Data(contentsOf: URL(fileURLWithPath: target))
            let whole = try JSONSerialization.jsonObject(with: data) as? [String: Any]
            let name = URL(fileURLWithPath: path).lastPathComponent
            #expect((whole?["objects"] as? [Any])?.count == counts[name], "\(path)")
            pairs += [path, target]
            files.append(xml)
        }
        guard let python = Self.python else {
            // Then only the comparison with other readers is missing.
            print("python3 is not here: its plistlib and its XML parser were not asked about \(files.count) archives")
            return
        }
        let outcome = try await Program.run(python, ["-c", Self.comparison] + pairs, in: scratch)
        #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
        #expect(outcome.output.contains("\(counts.count) archives agree"), "\(outcome.output)")
        let parsed = try await Program.run(python, ["-c", Self.parsing] + files, in: scratch)
        #expect(parsed.status == 0, "\(parsed.output)\(parsed.errors)")
        #expect(parsed.output.contains("\(files.count) files parsed"), "\(parsed.output)")
    }

    @Test("Broken and hostile files end quickly with status 0 or 1")
    func malformedInToolFixture() async throws {
        let paths = try Fixtures.write(Fixtures.malformed(), into: scratch.path("malformed"))
        #expect(Fixtures.isCount(paths.count, ofOthers: 229, own: 200))
        let check = try await Program.run("distant", ["check"] + paths, in: scratch)
        #expect(check.status == 1)
        let verdicts = check.output.split(separator: "\n").map { $0.contains(": good: ") }
        #expect(verdicts.count == paths.count)
        for (path, isGood) in zip(paths, verdicts) {
            let tree = try await Program.run("distant", ["dump", path], in: scratch)
            #expect(tree.status == (isGood ? 0 : 1), "\(path): \(tree.errors)")
            let json = try await Program.run("distant", ["dump", "--json", path], in: scratch)
            #expect(json.status <= 1 && (isGood || json.status == 1), "\(path): \(json.errors)")
            if !isGood { #expect(json.errors.hasPrefix("distant: \(path): "), "\(json.errors)") }
        }
    }

    private static let python = ["/usr/bin/python3", "/usr/local/bin/python3", "/opt/homebrew/bin/python3"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    /// Parses XML files with expat, which knows nothing of property lists.
    private static let parsing = """
        import sys, xml.parsers.expat

        for path in sys.argv[1:]:
            with open(path, "rb") as file:
                try: xml.parsers.expat.ParserCreate().ParseFile(file)
                except xml.parsers.expat.ExpatError as error: sys.exit(f"{path}: {error}")
        print(len(sys.argv) - 1, "files parsed")
        """

    /// Reads archives with Python's property list reader, and compares them with their JSON.
    private static let comparison = """
        import datetime, json, plistlib, struct, sys

        EPOCH = datetime.datetime(2001, 1, 1)

        def uid(v):
            if isinstance(v, plistlib.UID): return v.data
            if isinstance(v, dict) and list(v) == ["CF$UID"]: return v["CF$UID"]

        def same(v, j):
            if uid(v) is not None: return j == {"ref": uid(v)}
            if v is None or v == "$null": return j is None
            if isinstance(v, bool): return j == {"bool": v}
            if isinstance(v, int): return j == {"int": str(v)}
            if isinstance(v, float):
                return j["width"] in (4, 8) and j["real"] == struct.pack(">d", v).hex()
            if isinstance(v, str): return j == {"string": v}
            if isinstance(v, bytes): return j == {"data": v.hex()}
            if isinstance(v, datetime.datetime):
                seconds = struct.unpack(">d", bytes.fromhex(j["date"]))[0]
                return abs((v - EPOCH).total_seconds() - seconds) < 1e-3
            if isinstance(v, list):
                return list(j) == ["array"] and len(v) == len(j["array"]) and all(map(same, v, j["array"]))
            if isinstance(v, dict): return list(j) == ["dict"] and fields(v, j["dict"])
            return False

        def fields(v, j):
            keys = sorted(v, key=lambda k: k.encode())
            return [k for k, _ in j] == keys and all(same(v[k], x) for k, x in j)

        def unescaped(d): return {k[1:] if k.startswith("$$") else k: v for k, v in d.items() if k != "$class"}

        def object_is(v, j, objects):
            if isinstance(v, dict) and "$class" in v:
                record = objects[uid(v["$class"])]
                return (j["class"] == record["$classname"] and j.get("classes") == record.get("$classes")
                        and fields(unescaped(v), j["keys"]))
            if isinstance(v, dict) and "$classname" in v:
                return j == {"classRecord": v["$classname"], "classes": v.get("$classes", [])}
            return same(v, j)

        agreed = 0
        for archive, dump in zip(sys.argv[1::2], sys.argv[2::2]):
            p, j = plistlib.load(open(archive, "rb")), json.load(open(dump))
            objects = p["$objects"]
            ok = j["archiver"] == p["$archiver"] and j["version"] == p["$version"]
            ok = ok and len(objects) == len(j["objects"]) and fields(unescaped(p["$top"]), sorted(j["top"].items()))
            wrong = [i for i, o in enumerate(objects) if not object_is(o, j["objects"][i], objects)] if ok else "all"
            if wrong: print(archive, "differs at", wrong)
            else: agreed += 1
        print(agreed, "archives agree")
        sys.exit(0 if agreed == len(sys.argv[1:]) // 2 else 1)
        """
}
