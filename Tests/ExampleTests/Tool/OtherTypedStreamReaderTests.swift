import ArchiveFixtures
import Foundation
import TestSupport
import Testing

@Suite("distant and another reader of typedstreams")
struct OtherTypedStreamReaderTests {
    private let scratch: TemporaryFolder

    init() throws {
        scratch = try TemporaryFolder()
    }

    @Test("The JSON of each typedstream equals that of an independent reader in Python")
    func otherReader() async throws {
        guard let reader = Self.otherReader else {
            // Then only the comparison with the other reader is missing.
            print("the independent reader is not here: no typedstream was compared with it")
            return
        }
        guard let (python, packages) = try await environment() else {
            print("the package pytypedstream cannot be installed: no typedstream was compared with it")
            return
        }
        var paths: [String] = []
        // The other reader takes time by the square of the depth.
        for archive in try Fixtures.typedstreams() where !archive.name.contains("deep-") {
            let path = scratch.path(archive.name)
            try archive.data.write(to: URL(fileURLWithPath: path))
            let outcome = try await Program.run(
                "distant", ["convert", "--to", "json", path, path + ".json"], in: scratch)
            #expect(outcome.status == 0, "\(outcome.errors)")
            paths.append(path)
        }
        let outcome = try await Program.run(python, ["-c", Self.comparison, reader, packages] + paths, in: scratch)
        #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
        #expect(outcome.output.contains("\(paths.count) typedstreams agree"), "\(outcome.output)")
    }

    /// A Python and a folder with the package; nil if there is no Python or no network.
    private func environment() async throws -> (python: String, packages: String)? {
        let packages = scratch.path("packages")
        for python in ["/usr/bin/python3", "/usr/local/bin/python3", "/opt/homebrew/bin/python3"] {
            guard FileManager.default.isExecutableFile(atPath: python) else { continue }
            let install = [
                "-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1", "--target", packages,
                "pytypedstream==0.1.0",
            ]
            if try await Program.run(python, install, in: scratch).status == 0 { return (python, packages) }
            // A Python without pip of its own makes a virtual environment that has it, which takes longer.
            let folder = scratch.path("venv")
            guard try await Program.run(python, ["-m", "venv", folder], in: scratch).status == 0,
                try await Program.run("\(folder)/bin/python3", install, in: scratch).status == 0
            else { continue }
            return (python, packages)
        }
        return nil
    }

    /// The program that prints what the package reads.
    private static let otherReader: String? = {
        var package = URL(fileURLWithPath: #filePath)
        for _ in 0..<5 { package.deleteLastPathComponent() }
        let path = package.appending(path: "shared/tools/typedstream_json.py").path
        return FileManager.default.fileExists(atPath: path) ? path : nil
    }()

    private static let comparison = """
        import contextlib, io, json, runpy, sys

        reader, packages, paths = sys.argv[1], sys.argv[2], sys.argv[3:]
        sys.path.insert(0, packages)

        def read(path):
            # One process for all files: to start Python takes longer than to read most of them.
            sys.argv = [reader, path, "--one-line"]
            output = io.StringIO()
            with contextlib.redirect_stdout(output): runpy.run_path(reader, run_name="__main__")
            return json.loads(output.getvalue())

        def same(a, b):
            if isinstance(a, dict) and isinstance(b, dict):
                # We print the number of elements that take no bytes.
                if isinstance(b.get("array"), int): return a["of"] == b["of"] and len(a["array"]) == b["array"]
                return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
            if isinstance(a, list) and isinstance(b, list): return len(a) == len(b) and all(map(same, a, b))
            return type(a) == type(b) and a == b

        agreed = 0
        for path in paths:
            try: other = read(path)
            except SystemExit: print(path, "is not read"); continue
            ours = json.load(open(path + ".json"))
            # How the file stores things is not what they are.
            ours.pop("numbers", None); ours.pop("strings", None)
            if same(other, ours): agreed += 1
            else: print(path, "differs")
        print(agreed, "typedstreams agree")
        sys.exit(0 if agreed == len(paths) else 1)
        """
}
