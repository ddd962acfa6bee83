import Foundation
import Testing

@testable import KeyedArchive

@Suite("Numbers and collections as classes written for Foundation want them")
struct FoundationFormTests {
    final class Shelf: ObjectCoding {
        var size = 7
        var isFull = true
        var names = ["a", "b"]
        var foos = [Foo("x", 1)]
        var places = ["a": 1]
        var tags: Set<String> = ["t"]
        var text = "text"
        var data = Data([1, 2])
        var packed = [1.5, 2.5]
        var nothing: [Int]?
        var rows = [[1], [2]]

        init() {}

        init(coder: ObjectDecoder) throws {
            size = try coder.decode(Int.self, forKey: "size")
            isFull = try coder.decode(Bool.self, forKey: "isFull")
            names = try coder.decode([String].self, forKey: "names")
            foos = try coder.decode([Foo].self, forKey: "foos")
            places = try coder.decode([String: Int].self, forKey: "places")
            tags = try coder.decode(Set<String>.self, forKey: "tags")
            text = try coder.decode(String.self, forKey: "text")
            data = try coder.decode(Data.self, forKey: "data")
            packed = try coder.decode([Double].self, forKey: "packed")
            nothing = try coder.decodeIfPresent([Int].self, forKey: "nothing")
            rows = try coder.decode([[Int]].self, forKey: "rows")
        }

        func encode(with coder: ObjectEncoder) throws {
            try coder.encode(AsObject(size), forKey: "size")
            try coder.encode(AsObject(isFull), forKey: "isFull")
            try coder.encode(AsMutable(names), forKey: "names")
            try coder.encode(AsMutable(foos), forKey: "foos")
            try coder.encode(AsMutable(places), forKey: "places")
            try coder.encode(AsMutable(tags), forKey: "tags")
            try coder.encode(AsMutable(text), forKey: "text")
            try coder.encode(AsMutable(data), forKey: "data")
            try coder.encode(AsMutable(packed), forKey: "packed")
            try coder.encode(AsMutable(nothing), forKey: "nothing")
            try coder.encode(AsMutable(rows.map { AsMutable($0) }), forKey: "rows")
        }
    }

    @Test("They are read as the values they wrap, in each format", arguments: [ArchiveFormat.compact, .binary, .xml])
    func readBack(format: ArchiveFormat) throws {
        let shelf = try KeyedUnarchiver.unarchive(
            Shelf.self, from: try KeyedArchiver.archive(Shelf(), format: format))
        #expect(shelf.size == 7 && shelf.isFull && shelf.names == ["a", "b"] && shelf.foos[0].name == "x")
        #expect(shelf.places == ["a": 1] && shelf.tags == ["t"] && shelf.text == "text" && shelf.data == Data([1, 2]))
        #expect(shelf.packed == [1.5, 2.5] && shelf.nothing == nil && shelf.rows == [[1], [2]])
    }

    @Test("In Apple's format they are objects of those classes")
    func classes() throws {
        let graph = try ArchivedGraph(try KeyedArchiver.archive(Shelf(), format: .binary))
        let shelf = try #require(graph.objects.first { $0.className == "Shelf" && $0.record != nil })
        func object(_ key: String) -> ArchivedObject? {
            if case .reference(let index)? = shelf[key] { graph.objects[index] } else { nil }
        }
        #expect(object("size")?.plainValue == .integer(7))
        #expect(object("isFull")?.plainValue == .bool(true))
        for key in ["names", "foos", "packed", "rows"] { #expect(object(key)?.className == "NSMutableArray", "\(key)") }
        #expect(object("places")?.className == "NSMutableDictionary")
        #expect(object("tags")?.className == "NSMutableSet")
        #expect(object("text")?.className == "NSMutableString")
        #expect(object("data")?.className == "NSMutableData")
        #expect(shelf["nothing"] == .reference(0))
        guard case .list(let rows)? = object("rows")?["NS.objects"], case .reference(let row)? = rows.first else {
            Issue.record("no rows")
            return
        }
        #expect(graph.objects[row].className == "NSMutableArray")
        let classes = graph.objects.compactMap { if case .classRecord(let type) = $0 { type.classes } else { nil } }
        #expect(classes.contains(["NSMutableArray", "NSArray", "NSObject"]))
    }

    @Test("In the compact format they leave no trace, and under other coders they are the value")
    func noTrace() throws {
        struct Plain: Codable { var a = 1, b = [2] }
        struct Formed: Codable { var a = AsObject(1), b = AsMutable([2]) }
        let archiver = KeyedArchiver()
        try archiver.encode(AsObject(1), forKey: "a")
        try archiver.encode(AsMutable([2]), forKey: "b")
        let plain = KeyedArchiver()
        try plain.encode(1, forKey: "a")
        try plain.encode([2], forKey: "b")
        #expect(try archiver.finish() as [UInt8] == plain.finish())
        let json = try JSONEncoder().encode(Formed())
        #expect(try JSONDecoder().decode(Plain.self, from: json).b == [2])
        #expect(try JSONDecoder().decode(Formed.self, from: json).a.value == 1)
        // The same inside `Codable` values, whose content is written in pieces.
        let formed = try KeyedUnarchiver.unarchive(
            [Plain].self, from: try KeyedArchiver.archive([Formed(), Formed()], format: .binary))
        #expect(formed[1].a == 1 && formed[1].b == [2])
    }

    @Test("A missing or nil value is replaced by a default, and an archive can be Data")
    func defaultsInFoundationForm() throws {
        let archiver = KeyedArchiver()
        try archiver.encode(Int?.none, forKey: "none")
        try archiver.encode(3, forKey: "three")
        let data: Data = try archiver.finish()
        let unarchiver = try KeyedUnarchiver(data)
        #expect(try unarchiver.decode(Int.self, forKey: "none", default: 5) == 5)
        #expect(try unarchiver.decode(Int.self, forKey: "missing", default: 6) == 6)
        #expect(try unarchiver.decode(Int.self, forKey: "three", default: 7) == 3)
        let wrong = #expect(throws: ArchiveError.self) {
            try unarchiver.decode(String.self, forKey: "three", default: "")
        }
        #expect(wrong?.code == .typeMismatch)
        let late = #expect(throws: ArchiveError.self) { try archiver.encode(1, forKey: "late") }
        #expect(late?.message == "the archive is finished, so the key late has no place in it")
    }

    @Test("The error for a real in place of an integer says so")
    func realForInteger() throws {
        for format in [ArchiveFormat.binary, .xml] {
            let bytes = try KeyedArchiver.archive(7.5, format: format)
            let error = #expect(throws: ArchiveError.self) { try KeyedUnarchiver.unarchive(Int.self, from: bytes) }
            #expect(error?.description == "root: the number is not whole, or does not fit Int")
        }
        let cut = try KeyedArchiver.archive(Shelf(), format: .binary).dropLast(9)
        let error = #expect(throws: ArchiveError.self) { try KeyedUnarchiver(Array(cut)) }
        #expect(error?.message.contains("truncated") == true)
    }

    @Test("A deep copy may go to another actor")
    func copyIsSent() async throws {
        actor Keeper {
            var foos: [Foo] = []
            func keep(_ foo: sending Foo) { foos.append(foo) }
            var count: Int { foos.count }
        }
        let keeper = Keeper()
        let foo = Foo("x", 1)
        await keeper.keep(try KeyedArchiver.deepCopy(of: foo))
        foo.age = 2
        #expect(await keeper.count == 1)
    }
}
