import Foundation
import FoundationCoding
import KeyedArchive
import Testing

/// A `Codable` value that contains objects of `NSCoding` classes.
private struct Parcel: Codable {
    var label: String
    var people: [NSCoded<Person>]
    var order: NSCoded<NSMutableArray>
}

@Suite("NSCoding objects as Codable values")
struct NSCodedTests {
    @Test("They can be in archives of this library, in each format", arguments: [ArchiveFormat.compact, .binary, .xml])
    func archivesInNSCoded(format: ArchiveFormat) throws {
        let parcel = Parcel(
            label: "p", people: [NSCoded(Person(firstName: "A", lastName: "B"))], order: NSCoded(["x", 1]))
        let bytes = try KeyedArchiver.archive(parcel, format: format)
        let back = try KeyedUnarchiver.unarchive(Parcel.self, from: bytes)
        #expect(back.people == parcel.people)
        #expect(back.people[0].object !== parcel.people[0].object)
        #expect(back.order == parcel.order)
        back.order.object.add("more")
        #expect(parcel.order.object.count == 2)
    }

    @Test("Other encoders take them as bytes")
    func jsonInNSCoded() throws {
        let coded = NSCoded(Employee(first: "Ada", last: "L", number: 3))
        let back = try JSONDecoder().decode(NSCoded<Employee>.self, from: try JSONEncoder().encode(coded))
        #expect((back.object.first, back.object.number) == ("Ada", 3))
    }

    @Test("Identity is kept within one value")
    func identityInNSCoded() throws {
        let node = Node("n")
        node.next = node
        let back = try KeyedArchiver.deepCopy(of: NSCoded(node)).object
        #expect(back.next === back)
        (node.next, back.next) = (nil, nil)
    }

    @Test("Only the named class and those its decoding names are made")
    func allowedInNSCoded() throws {
        let bytes = try KeyedArchiver.archive(NSCoded(Foo(name: "James", age: 40)))
        #expect(try KeyedUnarchiver.unarchive(NSCoded<Foo>.self, from: bytes).object.age == 40)
        #expect(throws: ArchiveError.self) { try KeyedUnarchiver.unarchive(NSCoded<Person>.self, from: bytes) }
        // Bar does not list the classes in its array.
        let bar = try KeyedArchiver.archive(NSCoded(Bar()))
        let error = #expect(throws: ArchiveError.self) { try KeyedUnarchiver.unarchive(NSCoded<Bar>.self, from: bar) }
        #expect(error?.description.contains("Foo is not known, or not allowed here") == true)
        // Listed at the place of use.
        let listed = try KeyedUnarchiver.unarchive(NSCoded<Bar, Foo>.self, from: bar)
        #expect(listed.object.foos.compactMap { ($0 as? Foo)?.name } == ["Juliana", "Nicolas"])
        let array = NSCoded(NSMutableArray(array: [Foo(name: "a", age: 1)]), allowing: Foo.self)
        let copy = try KeyedArchiver.deepCopy(of: array)
        #expect((copy.object[0] as? Foo)?.name == "a")
        #expect(throws: ArchiveError.self) {
            try KeyedUnarchiver.unarchive(NSCoded<NSMutableArray, Person>.self, from: KeyedArchiver.archive(array))
        }
        let shelf = try KeyedArchiver.archive(NSCoded(Shelf([Foo(name: "Juliana", age: 7)])))
        let back = try KeyedUnarchiver.unarchive(NSCoded<Shelf>.self, from: shelf).object
        #expect(back.foos.compactMap { ($0 as? Foo)?.name } == ["Juliana"])
    }
}

/// Like Bar, but lists the classes in its array.
final class Shelf: NSObject, NSCoding, NSCodingClassListing {
    static var archivedClasses: [AnyClass] { [Foo.self] }
    let foos: NSMutableArray

    init(_ foos: [Foo]) { self.foos = NSMutableArray(array: foos) }

    init?(coder: NSCoder) {
        guard let foos = coder.decodeObject(forKey: "foos") as? NSMutableArray else { return nil }
        self.foos = foos
    }

    func encode(with coder: NSCoder) { coder.encode(foos, forKey: "foos") }
}
