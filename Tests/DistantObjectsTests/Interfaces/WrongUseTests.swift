import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import Foundation
#endif

/// A line that the compiler refuses, and what it says of it.
private struct WrongUse {
    let line: String
    let message: String

    init(_ line: String, _ message: String) { (self.line, self.message) = (line, message) }

    static let calls = [
        WrongUse(
            "_ = try await directory.add(\"x\")",
            "cannot convert value of type 'String' to expected argument type 'Person'"),
        WrongUse(
            "let _: String = try await directory.add(person)",
            "cannot convert value of type 'Int' to specified type 'String'"),
        WrongUse(
            "try await directory.foo(1)", "value of type 'Remote<DirectoryInterface>' has no dynamic member 'foo'"),
        WrongUse("try await directory.add(person, 3)", "extra argument in call"),
        WrongUse(
            "_ = try await directory.add(person, deadline: .seconds(1))",
            "the label is `timeout:`, as in `remote.count(text, timeout: .seconds(5))`"),
        WrongUse("try await directory.clear(deadline: .seconds(1))", "the label is `timeout:`"),
        WrongUse("_ = try await directory.add.call(person, deadline: .seconds(1))", "call the message itself"),
        WrongUse("try await directory.clear.call(deadline: .seconds(1))", "call the message itself"),
        WrongUse("try await directory.clear(3)", "extra argument in call"),
        WrongUse("_ = try await directory.find(\"x\").rename(\"y\")", "must be unwrapped to refer to member 'rename'"),
        WrongUse(
            "try await directory.add.oneWay(1)", "cannot convert value of type 'Int' to expected argument type 'Person'"
        ),
        // With the subscripts of several levels the compiler names the member and not its owner.
        WrongUse("try await admin.foo(1)", "reference to member 'foo' cannot be resolved without a contextual type"),
        WrongUse(
            "_ = Remote<DirectoryInterface>(vending: PersonObject())", "'DirectoryInterface' and 'PersonObject.I'"),
        WrongUse(
            "_ = Remote<AdminInterface>(directory)",
            "the interface of this Remote does not extend that one; `try Remote<…>(remote.object)` checks whether"),
        WrongUse("_ = try await connection.root(as: Person.self)", "requires that 'Person' conform to 'Interface'"),
        WrongUse("connection.vend(PersonObject())", "call can throw but is not marked with 'try'"),
        WrongUse(
            "let _: DistantStream<String> = try await directory.changes()",
            "cannot assign value of type 'DistantStream<Int>' to type 'DistantStream<String>'"),
        WrongUse("_ = DistantStream([{ 1 }])", "type '() -> Int' cannot conform to 'Encodable'"),
    ]

    /// Lines of a message table, of which the compiler need only name the line.
    static let tableLines = [
        WrongUse("Message(\\DirectoryInterface.find, Directory.add)", "error: "),
        WrongUse("Message(\\DirectoryInterface.add, Directory.none)", "error: "),
        WrongUse("Message(\\DirectoryInterface.nope, Directory.none)", "error: "),
        WrongUse("Message(\\DirectoryInterface.changes, Directory.texts)", "error: "),
        WrongUse("Message(\\DirectoryInterface.changes, Directory.unsafe)", "error: "),
    ]

    static let source = """
        import DistantObjects

        struct Person: Codable, Sendable { var name = "" }
        struct PersonInterface: Interface { let rename = Signature<Void, String>("rename") }
        struct DirectoryInterface: Interface {
            let add = Signature<Int, Person>("add")
            let find = Signature<Remote<PersonInterface>?, String>("find")
            let clear = Signature<Void>("clear")
            let changes = Signature<DistantStream<Int>>("changes")
        }
        struct AdminInterface: Extending {
            typealias Base = DirectoryInterface
            let stop = Signature<Void>("stop")
        }
        final class PersonObject: Vendable, Implements {
            typealias I = PersonInterface
            static var messages: MessageTable<PersonObject> {
                Message(\\I.rename) { (_: PersonObject) in { (_: String) in } }
            }
        }
        final class Directory: Sendable {
            func add(_ person: Person) -> Int { 1 }
            func none() {}
            func texts() -> AsyncStream<String> { AsyncStream { $0.finish() } }
            func unsafe() -> Guarded { Guarded() }
        }
        class Guarded: AsyncSequence, AsyncIteratorProtocol {
            func next() async -> Int? { nil }
            func makeAsyncIterator() -> Guarded { self }
        }

        """

    /// Each line in a function of its own, so that one error does not hide the next.
    func function(_ number: Int) -> String {
        """
        func use\(number)(
            _ directory: Remote<DirectoryInterface>, _ admin: Remote<AdminInterface>, _ connection: Connection, _ person: Person
        ) async throws {
        \(line)
        }

        """
    }

    func table(_ number: Int) -> String { "func table\(number)() -> Message<Directory> {\n\(line)\n}\n" }
}

@Suite("What the compiler says to wrong uses of interfaces", .bounded())
struct WrongUseTests {
    /// The compiler's errors by the line of the source.
    private func errors(in source: String) async throws -> [Int: [String]] {
        let folder = try TemporaryFolder()
        let file = folder.path("wrong.swift")
        try source.write(toFile: file, atomically: true, encoding: .utf8)
        let built = URL(fileURLWithPath: try builtProgram("FooBarServer")).deletingLastPathComponent()
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compiler.arguments = [
            "swiftc", "-typecheck", "-swift-version", "6", "-enable-upcoming-feature", "NonisolatedNonsendingByDefault",
            "-I", built.appendingPathComponent("Modules").path, "-Xcc",
            "-fmodule-map-file=\(built.appendingPathComponent("CPortShims.build/module.modulemap").path)", file,
        ]
        let output = Pipe()
        compiler.standardError = output
        compiler.standardOutput = output
        try compiler.run()
        let text = try await onThread {
            let data = output.fileHandleForReading.readDataToEndOfFile()
            return String(decoding: data, as: UTF8.self)
        }
        var found: [Int: [String]] = [:]
        for line in text.split(separator: "\n") {
            guard let match = line.firstMatch(of: #/wrong\.swift:(\d+):\d+: (error: .*)/#), let number = Int(match.1)
            else {
                continue
            }
            found[number, default: []].append(String(match.2))
        }
        return found
    }

    @Test("Each wrong use is an error at its line, which names the type or the member that is wrong")
    func wrongUses() async throws {
        var source = WrongUse.source
        var places: [(line: Int, use: WrongUse)] = []
        for (uses, isTable) in [(WrongUse.calls, false), (WrongUse.tableLines, true)] {
            for use in uses {
                let text = isTable ? use.table(places.count) : use.function(places.count)
                let start = source.split(separator: "\n", omittingEmptySubsequences: false).count
                let offset = text.split(separator: "\n").firstIndex { $0 == use.line }
                places.append((start + (try #require(offset)), use))
                source += text
            }
        }
        let errors = try await errors(in: source)
        for (line, use) in places {
            let said = errors[line] ?? []
            #expect(said.contains { $0.contains(use.message) }, "\(use.line): \(said)")
        }
        // Nothing else is wrong.
        #expect(Set(errors.keys) == Set(places.map(\.line)), "\(errors)")
    }
}
