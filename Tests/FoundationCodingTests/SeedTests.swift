import Foundation
import FoundationCoding
import KeyedArchive
import Testing

@Suite("Classes as written for Foundation")
struct SeedTests {
    static let formats: [ArchiveFormat] = [.binary, .xml, .compact]

    @Test("Foo and Bar are archived under two keys of one file", arguments: formats)
    func twoRoots(format: ArchiveFormat) throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("foo2-\(UUID().uuidString).archive")
        defer { try? FileManager.default.removeItem(at: file) }
        let data = try NSCodingArchiver.archivedData(
            withRoots: ["myfoo": Foo(name: "James", age: 40), "mybar": Bar()], format: format)
        try data.write(to: file, options: .atomic)

        let unarchiver = try NSCodingUnarchiver(forReadingFrom: try Data(contentsOf: file))
        unarchiver.requiresSecureCoding = false
        let bar = try #require(unarchiver.decodeObject(forKey: "mybar") as? Bar)
        let foo = try #require(unarchiver.decodeObject(forKey: "myfoo") as? Foo)
        #expect(unarchiver.error == nil)
        #expect((foo.name, foo.age) == ("James", 40))
        let names = bar.foos.compactMap { ($0 as? Foo)?.name }
        #expect(names == ["Juliana", "Nicolas"])
        #expect(bar.foos.compactMap { ($0 as? Foo)?.age } == [7, 3])
    }

    @Test("A copy by archiving owns its own array and its own Foos")
    func deepCopy() throws {
        let bar = Bar()
        let data = try NSCodingArchiver.archivedData(withRootObject: bar)
        let copy = try #require(try NSCodingUnarchiver.unarchiveObject(with: data) as? Bar)
        #expect(copy.foos !== bar.foos)
        (copy.foos[0] as? Foo)?.age = 99
        #expect((bar.foos[0] as? Foo)?.age == 7)
        copy.foos.removeAllObjects()
        #expect(bar.foos.count == 2)
    }

    @Test("An Employee is archived by key, and decoded in any order")
    func employeeKeyed() throws {
        let data = try NSCodingArchiver.archivedData(
            withRootObject: Employee(first: "Ada", last: "Lovelace", number: 12))
        let employee = try #require(try NSCodingUnarchiver.unarchiveObject(with: data) as? Employee)
        #expect((employee.first, employee.last, employee.number) == ("Ada", "Lovelace", 12))
        let graph = try ArchivedGraph(data)
        #expect(graph.objects[1]["Number"] == .integer(12))
    }

    @Test("The same Employee is archived without keys, strictly in order", arguments: formats)
    func employeeSequential(format: ArchiveFormat) throws {
        let data = try NSCodingSequentialArchiver.archivedData(
            withRootObject: Employee(first: "Ada", last: "Lovelace", number: -12), format: format)
        let employee = try #require(
            try NSCodingSequentialUnarchiver.unarchivedObject(with: data, allowing: [Employee.self]) as? Employee)
        #expect((employee.first, employee.last, employee.number) == ("Ada", "Lovelace", -12))
        #expect(throws: ArchiveError.self) { try NSCodingUnarchiver(forReadingFrom: data) }
    }

    @Test("Decoding in another order than encoded is an error that names both types")
    func otherOrder() throws {
        let data = try NSCodingSequentialArchiver.archivedData(withRootObject: Confused())
        let error = try #require(throws: ArchiveError.self) {
            try NSCodingSequentialUnarchiver.unarchivedObject(with: data)
        }
        #expect(error.code == .typeMismatch)
        #expect(error.description == "$0.$0: expected type “i” next, found “@”")
    }

    @Test("Decoding more than was encoded in order is an error")
    func beyondTheEnd() throws {
        let archiver = NSCodingSequentialArchiver()
        archiver.encode("one")
        archiver.encode(Foo(name: "x", age: 1) as Any?)
        #expect((archiver.error as? ArchiveError)?.code == .misuse, "Foo uses keys")

        let other = NSCodingSequentialArchiver()
        other.encode("one")
        let unarchiver = try NSCodingSequentialUnarchiver(forReadingFrom: try other.data())
        #expect(unarchiver.decodeObject() as? String == "one")
        #expect(unarchiver.isAtEnd)
        #expect(unarchiver.decodeObject() == nil)
        #expect((unarchiver.error as? ArchiveError)?.code == .missingKey)
    }

    @Test("Foundation's own classes can be in sequential archives")
    func foundationInSequence() throws {
        let archiver = NSCodingSequentialArchiver()
        let values: [NSObject] = [
            NSDate(), NSURL(string: "http://a/b")!, NSUUID(), ["a": [1, 2.5]] as NSDictionary, NSIndexSet(index: 4),
            NSNumber(value: true),
        ]
        for value in values { archiver.encode(value) }
        let unarchiver = try NSCodingSequentialUnarchiver(forReadingFrom: try archiver.data())
        for value in values {
            let object = unarchiver.decodeObject()
            #expect(unarchiver.error == nil)
            #expect(value.isEqual(object))
        }
    }

    @Test("An item store keeps its list in items.archive, an empty one if there is no file")
    func itemStore() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("items-\(UUID().uuidString).archive")
            .path
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(NSCodingUnarchiver.unarchiveObject(withFile: path) == nil)
        let items = NSMutableArray()
        items.add(Item(itemName: "Fork", serialNumber: "3A4B", valueInDollars: 40))
        items.add(Item(itemName: "Bear", serialNumber: nil, valueInDollars: 12))
        #expect(NSCodingArchiver.archiveRootObject(items, toFile: path))
        let back = try #require(NSCodingUnarchiver.unarchiveObject(withFile: path) as? NSMutableArray)
        let (old, new) = (items.compactMap { $0 as? Item }, back.compactMap { $0 as? Item })
        #expect(new.map(\.itemName) == ["Fork", "Bear"])
        #expect(new.map(\.serialNumber) == ["3A4B", nil])
        #expect(new.map(\.itemKey) == old.map(\.itemKey))
        #expect(new.map(\.dateCreated) == old.map(\.dateCreated))
        #expect(new.map(\.valueInDollars) == [40, 12])
        #expect(!NSCodingArchiver.archiveRootObject(items, toFile: "/nowhere/at/all/items.archive"))
    }

    @Test("Settings come back with their mutable history and without an order")
    func settingsInSeed() throws {
        let settings = Settings()
        settings.keywordHistory.add("swift")
        let data = try NSCodingArchiver.archivedData(withRoots: ["settings": settings])
        let unarchiver = try NSCodingUnarchiver(forReadingFrom: data)
        unarchiver.requiresSecureCoding = false
        let back = try #require(unarchiver.decodeObject(forKey: "settings") as? Settings)
        #expect((back.area, back.lhour, back.primeTimeFrom, back.primeTimeTo) == ("008", 2, "19:00", "23:00"))
        back.keywordHistory.add("objects")
        #expect(back.keywordHistory as? [String] == ["swift", "objects"])
        #expect(back.orderOfViewControllers == nil)
    }

    @Test("A Person's clone through a file equals the original")
    func person() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("person-\(UUID().uuidString)").path
        let person = Person(firstName: "Grace", lastName: "Hopper")
        #expect(NSCodingArchiver.archiveRootObject(person, toFile: path))
        let clone = NSCodingUnarchiver.unarchiveObject(withFile: path) as? Person
        try FileManager.default.removeItem(atPath: path)
        #expect(clone == person)
        #expect(clone !== person)
    }

    @Test("A class that is only NSCoding is made where it is named, and nowhere else")
    func namedInSeed() throws {
        let data = try NSCodingArchiver.archivedData(withRootObject: Foo(name: "James", age: 40))
        let foo = try NSCodingUnarchiver.unarchivedObject(ofClass: Foo.self, from: data, requiringSecureCoding: false)
        #expect(foo?.age == 40)
        let insecure = #expect(throws: ArchiveError.self) {
            try NSCodingUnarchiver.unarchivedObject(ofClass: Foo.self, from: data)
        }
        #expect(insecure?.code == .classNotAllowed)
        let other = #expect(throws: ArchiveError.self) {
            try NSCodingUnarchiver.unarchivedObject(ofClass: Person.self, from: data, requiringSecureCoding: false)
        }
        #expect(other?.code == .classNotAllowed)
    }
}
