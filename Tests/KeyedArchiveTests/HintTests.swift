import ArchiveFixtures
import Foundation
import Testing

@testable import KeyedArchive

/// Archives can name classes to use in place of unknown ones.
@Suite("Hints for classes that are not known")
struct HintTests {
    final class Stand: ObjectCoding {
        let name: String
        init(coder: ObjectDecoder) throws { name = try coder.decode(String.self, forKey: "name") }
        func encode(with coder: ObjectEncoder) throws { try coder.encode(name, forKey: "name") }
    }

    final class Strange: ObjectCoding {
        let size: Int
        init(coder: ObjectDecoder) throws {
            size = try coder.decode([PropertyList].self, forKey: "NS.objects").count
        }
        func encode(with coder: ObjectEncoder) throws {}
    }

    /// An archive of one object, whose class has hints.
    private func archive(
        _ name: String, hints: [String], _ fields: KeyValuePairs<String, ArchivedValue>,
        format: ArchiveFormat = .binary
    ) throws -> [UInt8] {
        var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
        _ = try graph.add(.value(.null))
        let type = try graph.add(.classRecord(ArchivedClass(name: name, classes: [name, "NSObject"], hints: hints)))
        let record = ArchivedRecord(
            typeName: name, version: 0, classIndex: type, storedKeys: fields.map(\.key), values: fields.map(\.value))
        graph.setRoot(.reference(try graph.add(.instance(record))), forKey: "root")
        return try graph.bytes(format: format)
    }

    @Test("The first hint that is allowed is taken", arguments: [ArchiveFormat.binary, .xml])
    func orderInHint(format: ArchiveFormat) throws {
        let bytes = try archive("Gone", hints: ["Foo", "Other", "Stand"], ["name": .string("x")], format: format)
        #expect(try KeyedUnarchiver.unarchive(Stand.self, from: bytes).name == "x")
        // A list does not accept a hint that is not on it.
        let unarchiver = try KeyedUnarchiver(bytes)
        #expect(try unarchiver.decode(Stand.self, forKey: "root", allowing: [Stand.self]).name == "x")
        let object = try KeyedUnarchiver(bytes).decodeObject(forKey: "root", allowing: [Stand.self])
        #expect((object as? Stand)?.name == "x")
        #expect(throws: ArchiveError.self) {
            try KeyedUnarchiver(bytes).decodeObject(forKey: "root", allowing: [Strange.self])
        }
        #expect(throws: ArchiveError.self) { try KeyedUnarchiver.unarchive(Strange.self, from: bytes) }
    }

    @Test("A known class needs no hint, and a delegate takes precedence over hints")
    func knownFirst() throws {
        let known = try archive("Stand", hints: ["Foo"], ["name": .string("x")])
        #expect(try KeyedUnarchiver.unarchive(Stand.self, from: known).name == "x")

        final class Guide: KeyedUnarchiverDelegate {
            var asked: [String] = []
            func unarchiver(didDecode object: any ObjectCoding) -> any ObjectCoding { object }
            func unarchiver(cannotDecodeClassNamed name: String) -> (any ObjectCoding.Type)? {
                asked.append(name)
                return Stand.self
            }
        }
        let guide = Guide()
        let unarchiver = try KeyedUnarchiver(archive("Gone", hints: ["Nobody"], ["name": .string("x")]))
        unarchiver.delegate = guide
        #expect(try unarchiver.decode(Stand.self, forKey: "root").name == "x")
        #expect(guide.asked == ["Gone"])
        let listing = try KeyedUnarchiver(archive("Gone", hints: ["Nobody"], ["name": .string("y")]))
        listing.delegate = guide
        #expect((try listing.decodeObject(forKey: "root", allowing: [Stand.self]) as? Stand)?.name == "y")
        #expect(throws: ArchiveError.self) { try listing.decodeObject(forKey: "root", allowing: [Strange.self]) }
    }

    @Test("A class name with its module is found in a list too")
    func modules() throws {
        let bytes = try archive("Program.Stand", hints: ["Program.Other"], ["name": .string("x")])
        let object = try KeyedUnarchiver(bytes).decodeObject(forKey: "root", allowing: [Stand.self])
        #expect((object as? Stand)?.name == "x")
        let hinted = try archive("Program.Gone", hints: ["Program.Stand"], ["name": .string("y")])
        #expect(try KeyedUnarchiver.unarchive(Stand.self, from: hinted).name == "y")
        let second = try KeyedUnarchiver(hinted).decodeObject(forKey: "root", allowing: [Stand.self])
        #expect((second as? Stand)?.name == "y")
    }

    @Test("A hint for a Foundation class makes it a value, unless the class is registered")
    func valuesInHint() throws {
        let bytes = try archive(
            "Bridged", hints: ["Unknown", "NSArray", "NSString"],
            ["kind": .integer(2), "NS.objects": .list([.integer(1), .integer(5)])])
        #expect(try KeyedUnarchiver.unarchive([Int].self, from: bytes) == [1, 5])
        var registry = ClassRegistry()
        registry.setClass(Strange.self, forName: "Bridged")
        #expect(try KeyedUnarchiver.unarchive(Strange.self, from: bytes, classes: registry).size == 2)
        // A graph keeps the class name, even in another format.
        let graph = try ArchivedGraph(try ArchivedGraph(bytes).bytes(format: .compact))
        #expect(graph.objects.compactMap { $0.record?.typeName } == ["Bridged"])
    }

    @Test("An archive as PyObjC writes it is read by its hints")
    func realInHint() throws {
        let bytes = try Fixtures.real(named: "plaso__NSKeyedArchiver").bytes
        let root = try KeyedUnarchiver.unarchive([String: PropertyList].self, from: bytes)
        #expect(root["MyString"] == .string("Some string") && root["MyInteger"] == .integer(98))
        #expect(root["MyData"] == .data(Data("DATA\n".utf8)) && root["MyFloat"] == .real(2.7))
        #expect(root["MyArray"] == .array([]) && root["MyDictionary"] == .dictionary([:]))
        #expect(root["MyDate"] == .date(Date(timeIntervalSinceReferenceDate: 729_452_449)))
    }
}
