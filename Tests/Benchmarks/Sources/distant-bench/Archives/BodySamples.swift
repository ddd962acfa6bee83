import DistantObjects
import Foundation
import KeyedArchive

/// Gets the text of message bodies: small typedstreams, each of a string with attributes.
///
/// Compares with the Python package pytypedstream if `DISTANT_PYTYPEDSTREAM` is the path of a Python that has it.
struct BodySamples {
    private let texts: [String]
    private let bodies: [[UInt8]]

    init(count: Int) {
        texts = (0..<count).map { "The body of message \($0), about as long as most of them are." }
        bodies = texts.map { Self.body($0) }
    }

    func measure(_ bench: ArchiveBench) async throws {
        guard try bodies.map({ try Self.text(of: $0) }) == texts else { throw BenchError("a body has another text") }
        var ways = [
            ArchiveWay.nanoseconds("typedstream", perObject: bodies.count) { try bodies.map { try Self.text(of: $0) } }
        ]
        guard let python = ProcessInfo.processInfo.environment["DISTANT_PYTYPEDSTREAM"] else {
            return try await bench.compare("body-text", metric: "ns_per_object", against: nil, ways)
        }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("distant-bench-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let lines = bodies.map { body in body.map { String(256 + Int($0), radix: 16).dropFirst() }.joined() }
        try lines.joined(separator: "\n").write(to: file, atomically: false, encoding: .utf8)
        let expected = String(texts[texts.count - 1])
        ways.append(ArchiveWay("pytypedstream") { try run(python, file, expected) })
        try await bench.compare("body-text", metric: "ns_per_object", against: "pytypedstream", ways)
    }

    /// The text of a body: the first object of the root is the string, whose one value is the text.
    static func text(of body: [UInt8]) throws -> String {
        let graph = try TypedStreamGraph(body)
        guard let string = object(graph.groups, graph).flatMap({ object($0.groups, graph) }) else {
            throw BenchError("a body without a string")
        }
        for group in string.groups { for case .text(let text) in group.values { return text.description } }
        throw BenchError("a string without a text")
    }

    /// The first object that groups refer to.
    private static func object(_ groups: TypedStreamGroups, _ graph: TypedStreamGraph) -> TypedStreamObject? {
        for group in groups {
            for case .label(let label) in group.values {
                if case .object(let object) = graph.labels[label] { return object }
            }
        }
        return nil
    }

    /// The nanoseconds that Python takes for each text.
    private func run(_ python: String, _ file: URL, _ last: String) throws -> Double {
        let script = """
            import sys, time, typedstream
            bodies = [bytes.fromhex(line) for line in open(sys.argv[1])]
            start = time.process_time_ns()
            texts = [typedstream.unarchive_from_data(body).contents[0].value.value for body in bodies]
            spent = time.process_time_ns() - start
            if texts[-1] != sys.argv[2]: sys.exit("another text: " + repr(texts[-1]))
            print(spent / len(bodies))
            """
        let output = try ChildRun(python, ["-c", script, file.path, last]).output
        guard let value = Double(output.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw BenchError("pytypedstream printed \(output)")
        }
        return value
    }

    // MARK: Making bodies

    /// A typedstream of an `NSMutableAttributedString` with one run without attributes.
    private static func body(_ text: String) -> [UInt8] {
        func string(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + text.utf8 }
        func type(_ text: String) -> [UInt8] { [0x84] + string(text) }
        func `class`(_ name: String, version: UInt8) -> [UInt8] { [0x84, 0x84] + string(name) + [version] }
        let new: UInt8 = 0x84
        let end: UInt8 = 0x86
        // References to the type `@`, the first shared string, and to the class NSObject, the fourth label.
        let objectType: UInt8 = 0x92
        let root: UInt8 = 0x95
        var body: [UInt8] = [4, 11] + Array("streamtyped".utf8) + [0x81, 0xE8, 0x03]
        body += type("@") + [new]
        body += `class`("NSMutableAttributedString", version: 0) + `class`("NSAttributedString", version: 0)
        body += `class`("NSObject", version: 0) + [0x85]
        body += [objectType, new] + `class`("NSString", version: 1) + [root] + type("+") + string(text) + [end]
        body += type("iI") + [1, UInt8(text.utf16.count)]
        body += [objectType, new] + `class`("NSDictionary", version: 0) + [root] + type("i") + [0, end]
        return body + [end]
    }
}
