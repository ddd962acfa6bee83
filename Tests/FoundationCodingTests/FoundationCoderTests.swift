import Foundation
import FoundationCoding
import KeyedArchive
import Testing

@Suite("Foundation's own coders")
struct FoundationCoderTests {
    @Test("Foundation's unarchiver opens what this library wrote", arguments: [ArchiveFormat.binary, .xml])
    func theirsReadsOurs(format: ArchiveFormat) throws {
        let data = try NSCodingArchiver.archivedData(
            withRoots: ["myfoo": Foo(name: "James", age: 40), "mybar": Bar(), "all": Everything()], format: format)
        let theirs = try NSKeyedUnarchiver(forReadingFrom: data)
        theirs.requiresSecureCoding = false
        theirs.decodingFailurePolicy = .setErrorAndReturn
        let foo = theirs.decodeObject(forKey: "myfoo") as? Foo
        let bar = theirs.decodeObject(forKey: "mybar") as? Bar
        let all = theirs.decodeObject(of: AllowedValues.classes + [Everything.self], forKey: "all") as? Everything
        #expect(theirs.error == nil)
        #expect(foo?.age == 40)
        #expect(bar?.foos.compactMap { ($0 as? Foo)?.name } == ["Juliana", "Nicolas"])
        #expect(all?.words == ["a", "b"])
        #expect(all?.bytes == Data([1, 2, 3]))
        #expect(all?.integer == .min)
    }

    @Test("This library opens what Foundation's archiver wrote")
    func oursReadsTheirs() throws {
        let theirs = NSKeyedArchiver(requiringSecureCoding: false)
        theirs.encode(Foo(name: "James", age: 40), forKey: "myfoo")
        theirs.encode(Bar(), forKey: "mybar")
        theirs.encode(Employee(first: "Ada", last: "Lovelace", number: 12), forKey: "employee")
        theirs.finishEncoding()
        let unarchiver = try NSCodingUnarchiver(forReadingFrom: theirs.encodedData)
        unarchiver.requiresSecureCoding = false
        #expect((unarchiver.decodeObject(forKey: "myfoo") as? Foo)?.name == "James")
        let bar = unarchiver.decodeObject(forKey: "mybar") as? Bar
        #expect(bar?.foos.compactMap { ($0 as? Foo)?.age } == [7, 3])
        #expect((unarchiver.decodeObject(forKey: "employee") as? Employee)?.number == 12)
        #expect(unarchiver.error == nil)
    }
}
