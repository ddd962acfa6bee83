import Foundation
import KeyedArchive
import TestSupport
import Testing

@Suite("distant with archives that name Foundation's classes")
struct FoundationNameTests {
    private let scratch: TemporaryFolder

    init() throws {
        scratch = try TemporaryFolder()
    }

    /// Classes whose own code traps on such an archive, and others.
    private static let names = [
        "DateComponentsFormatter", "MeasurementFormatter", "NSOrthography", "NSURLCredential", "NSURLRequest",
        "PersonNameComponentsFormatter", "_NSCFArray", "_NSCFConstantString", "_NSCFString", "NSConcreteValue",
        "NSDecimalNumberHandler", "_NSKeyedCoderOldStyleArray", "NSArray", "NSString", "NSError", "NSDate",
    ]

    private static let contents: [[(key: String, value: ArchivedValue)]] = [
        [], [("NS.string", .integer(-1)), ("NS.objects", .data(Data())), ("NS.count", .integer(.max))],
        [("NS.objects", .list([.reference(1)])), ("NS.roundingMode", .integer(9))],
    ]

    /// The paths of archives of an object of each class, which is also a key, a value and an attribute.
    private func archives() throws -> [String] {
        try Self.names.flatMap { name in
            try Self.contents.enumerated().map { number, fields in
                var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
                let object = ArchivedValue.reference(graph.add(className: name, fields: fields))
                let text = ArchivedValue.reference(try graph.add(.value(.string("text"))))
                let map = graph.add(
                    className: "NSDictionary",
                    fields: [("NS.keys", .list([object])), ("NS.objects", .list([object]))])
                let attributed = graph.add(
                    className: "NSAttributedString",
                    fields: [("NSString", text), ("NSAttributes", .reference(map))])
                graph.setRoot(object, forKey: "root")
                graph.setRoot(.reference(attributed), forKey: "text")
                let path = scratch.path("\(name)-\(number)")
                try Data(graph.bytes(format: number == 1 ? .compact : .binary)).write(to: URL(fileURLWithPath: path))
                return path
            }
        }
    }

    @Test("Each command ends with a result or a message")
    func commands() async throws {
        let paths = try archives()
        let check = try await Program.run("distant", ["check"] + paths, in: scratch)
        #expect(check.status <= 1)
        let verdicts = check.output.split(separator: "\n").map { $0.contains(": good: ") }
        try #require(verdicts.count == paths.count, "\(check.output)\(check.errors)")
        for (path, isGood) in zip(paths, verdicts) {
            for arguments in [["dump", path], ["convert", "--to", "json", path, scratch.path("copy")]] {
                let outcome = try await Program.run("distant", arguments, in: scratch)
                #expect(outcome.status == (isGood ? 0 : 1), "\(arguments): \(outcome.errors)")
                #expect(isGood || outcome.errors.hasPrefix("distant: \(path): "), "\(outcome.errors)")
            }
        }
    }
}
