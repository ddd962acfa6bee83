import Testing

@testable import KeyedArchive

@Suite("Sequential archives")
struct SequentialTests {
    static let formats = [ArchiveFormat.compact, .binary, .xml]

    /// Reads in another order than was written.
    final class Confused: ObjectCoding {
        static var className: String { "Employee" }
        init(coder: ObjectDecoder) throws {
            _ = try coder.decode(Int.self)
        }
        func encode(with coder: ObjectEncoder) throws {}
    }

    /// Requests keys where there are none.
    final class Stubborn: ObjectCoding {
        static var className: String { "Employee" }
        init() {}
        init(coder: ObjectDecoder) throws { _ = try coder.decode(String.self, forKey: "First") }
        func encode(with coder: ObjectEncoder) throws { try coder.encode("x", forKey: "First") }
    }

    /// Has values with and without keys.
    final class Mixed: ObjectCoding {
        var list: [Int] = []
        var name = ""
        weak var parent: Mixed?
        var child: Mixed?

        init(_ list: [Int], _ name: String) {
            self.list = list
            self.name = name
        }

        init(coder: ObjectDecoder) throws {
            list = try coder.decode([Int].self)
            name = try coder.decode(String.self, forKey: "$0")
            child = try coder.decodeIfPresent(Mixed.self)
            try coder.decodeReference(Mixed.self) { self.parent = $0 }
        }

        func encode(with coder: ObjectEncoder) throws {
            try coder.encode(list)
            try coder.encode(name, forKey: "$0")
            try coder.encode(child)
            try coder.encodeConditional(parent)
        }
    }

    @Test("A class that encodes with or without keys round-trips both ways", arguments: formats)
    func employeeInSequential(_ format: ArchiveFormat) throws {
        let ada = Employee("Ada", "Lovelace", 1815)
        let archiver = SequentialArchiver(format: format)
        try archiver.encode([ada, Employee("Alan", "Turing", 1912), ada])
        try archiver.encode(7)
        try archiver.encode(Everything())
        try archiver.encode(Int?.none)
        let bytes = try archiver.finish()
        let unarchiver = try SequentialUnarchiver(bytes)
        #expect(unarchiver.format == format)
        let copies = try unarchiver.decode([Employee].self)
        #expect(copies.map(\.number) == [1815, 1912, 1815] && copies[0] === copies[2] && copies[1].first == "Alan")
        #expect(try unarchiver.decode(Int.self) == 7)
        #expect(try unarchiver.decode(Everything.self).string == Everything().string)
        #expect(!unarchiver.isAtEnd)
        #expect(try unarchiver.decodeIfPresent(Int.self) == nil)
        #expect(unarchiver.isAtEnd)
        let error = #expect(throws: ArchiveError.self) { try unarchiver.decode(Int.self) }
        #expect(error?.description == "[4]: no more values in order")
        // With keys.
        #expect(try roundTrip(ada, format: format).last == "Lovelace")
    }

    @Test("Another order, another type and keys are clear errors", arguments: formats)
    func confusionInSequential(_ format: ArchiveFormat) throws {
        let archiver = SequentialArchiver(format: format)
        try archiver.encode(Employee("Ada", "Lovelace", 1815))
        let bytes = try archiver.finish()
        var error = #expect(throws: ArchiveError.self) { try SequentialUnarchiver(bytes).decode(Confused.self) }
        #expect(error?.description == "[0][0]: expected Int, found String")
        error = #expect(throws: ArchiveError.self) { try SequentialUnarchiver(bytes).decode(Stubborn.self) }
        #expect(error?.description == "[0].First: no key was encoded here, only values in order")
        error = #expect(throws: ArchiveError.self) {
            try KeyedUnarchiver(bytes).decode(Employee.self, forKey: "root")
        }
        #expect(error?.code == .missingKey)
        error = #expect(throws: ArchiveError.self) {
            let archiver = SequentialArchiver(format: format)
            try archiver.encode(Stubborn())
            _ = try archiver.finish()
        }
        #expect(error?.code == .misuse)
        let keyed = try KeyedArchiver.archive(1, format: format)
        error = #expect(throws: ArchiveError.self) { try SequentialUnarchiver(keyed) }
        #expect(error?.code == .unsupported)
    }

    @Test("Values with and without keys can be in one object", arguments: formats)
    func mixedInSequential(_ format: ArchiveFormat) throws {
        let parent = Mixed([1, 2], "parent")
        parent.child = Mixed([], "child")
        parent.child?.parent = parent
        let copy = try roundTrip(parent, format: format)
        #expect(copy.list == [1, 2] && copy.name == "parent")
        #expect(copy.child?.name == "child" && copy.child?.parent === copy)
        let graph = try ArchivedGraph(KeyedArchiver.archive(parent, format: format))
        let record = try #require(graph.objects.first { $0.className == "Mixed" && $0.record != nil }?.record)
        #expect(record.keys.prefix(4) == ["$0", "$0", "$1", "$2"])
        #expect((0..<4).map(record.isUnkeyed) == [true, false, true, true])
    }

    @Test("Thousands of values in a row", arguments: formats)
    func manyInSequential(_ format: ArchiveFormat) throws {
        let archiver = SequentialArchiver(format: format)
        for number in 0..<5000 { try archiver.encode("value \(number)") }
        let unarchiver = try SequentialUnarchiver(archiver.finish())
        for number in 0..<5000 { #expect(try unarchiver.decode(String.self) == "value \(number)") }
        #expect(unarchiver.isAtEnd)
    }
}
