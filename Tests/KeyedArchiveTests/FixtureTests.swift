import ArchiveFixtures
import Foundation
import TestSupport
import Testing

@testable import KeyedArchive

@Suite("Archives that others wrote, or our own in their place")
struct FixtureTests {
    @Test("Each real archive opens, and is the same graph after writing it as binary and as XML")
    func realInFixture() throws {
        let archives = try Fixtures.real()
        #expect(Fixtures.isCount(archives.count, ofOthers: 144, own: 100))
        for archive in archives {
            let file = archive.name
            do {
                let graph = try ArchivedGraph(archive.bytes, anyArchiver: true)
                #expect(graph.objects.count == archive.objectCount, "\(file)")
                #expect(graph.roots.keys.sorted() == archive.topKeys, "\(file)")
                for format in [ArchiveFormat.binary, .xml] {
                    let again = try ArchivedGraph(graph.bytes(format: format), anyArchiver: true)
                    #expect(again == graph, "\(file) as \(format)")
                    #expect(again.hashValue == graph.hashValue)
                }
                #expect(graph.description.count > 10)
            } catch {
                Issue.record("\(file): \(error)")
            }
        }
    }

    @Test("A graph of a real archive is the same after each object was replaced by itself")
    func rebuilt() throws {
        for archive in try Fixtures.real() {
            let graph = try ArchivedGraph(archive.bytes, anyArchiver: true)
            var rebuilt = graph
            for index in graph.objects.indices { try rebuilt.replace(index, with: graph.objects[index]) }
            #expect(rebuilt == graph, "\(archive.name)")
            #expect(try ArchivedGraph(rebuilt.bytes(format: .binary), anyArchiver: true) == graph, "\(archive.name)")
        }
    }

    @Test("Values of real archives match those of another decoder")
    func expectedInFixture() throws {
        let expected = try Fixtures.expected()
        #expect(Fixtures.isCount(expected.count, ofOthers: 36, own: 36))
        for (archive, text) in expected {
            let graph = try ArchivedGraph(archive.bytes)
            let root = try #require(graph.roots.values.first)
            #expect(CanonicalText(graph).text(root) == text, "\(archive.name)")
        }
    }

    /// A Swift value as the text that `CanonicalText` makes of a graph.
    private static func text(_ value: PropertyList) -> String {
        switch value {
        case .bool(let value): return "\(value)"
        case .integer(let value): return "i\(value)"
        case .real(let value): return CanonicalText.double(value)
        case .date(let value): return "t" + CanonicalText.double(value.timeIntervalSinceReferenceDate).dropFirst()
        case .string(let value): return "\"\(CanonicalText.escaped(value))\""
        case .data(let value): return CanonicalText.hex(value)
        case .array(let values): return "[\(values.map(text).joined(separator: ","))]"
        case .dictionary(let values):
            let pairs = values.map { "\(text(.string($0.key))):\(text($0.value))" }
            return "{\(pairs.sorted().joined(separator: ","))}"
        }
    }

    @Test("Decoded Swift values match those of another decoder")
    func expectedValues() throws {
        var read = 0
        // Sets become lists, in any order, and are left out.
        for (archive, text) in try Fixtures.expected() where !text.hasPrefix("s(") && !text.hasPrefix("os(") {
            let unarchiver = try KeyedUnarchiver(archive.bytes)
            let key = try #require(unarchiver.keys.first)
            // A property list cannot hold URLs, UUIDs and nil.
            guard let value = try? unarchiver.decode(PropertyList.self, forKey: key) else { continue }
            #expect(Self.text(value) == text, "\(archive.name)")
            read += 1
        }
        #expect(read == (Fixtures.areOfOthers ? 16 : 36))
    }

    @Test("Archives of others are decoded into Swift values, or throw")
    func valuesInFixture() throws {
        var opened = 0
        for archive in try Fixtures.real().map(\.archive) + Fixtures.malformed() {
            let start = computingTime()
            do {
                let unarchiver = try KeyedUnarchiver(archive.bytes)
                for key in unarchiver.keys {
                    if (try? unarchiver.decode(PropertyList.self, forKey: key)) != nil { opened += 1 }
                    _ = try? unarchiver.decodeIfPresent([String: PropertyList].self, forKey: key)
                    _ = try? unarchiver.decode(Foo.self, forKey: key)
                    _ = try? unarchiver.decode(Everything.self, forKey: key)
                    _ = try? unarchiver.decode(Decimal.self, forKey: key)
                }
            } catch {
                #expect(error is ArchiveError, "\(archive.name): \(error)")
            }
            #expect((computingTime() - start) / Effort.unit < Effort.bound, "\(archive.name)")
        }
        // The roots that consist of Swift values only.
        #expect(Fixtures.isCount(opened, ofOthers: 64, own: 40), "\(opened)")
    }

    @Test("Some values of real archives, as Swift values")
    func someValues() throws {
        func root<T: Decodable>(_ type: T.Type, _ file: String) throws -> T {
            let unarchiver = try KeyedUnarchiver(Fixtures.real(named: file).bytes)
            return try unarchiver.decode(type, forKey: try #require(unarchiver.keys.first))
        }
        #expect(
            try root([String].self, "__NSKeyedUnarchiver-ArrayTest").count == 4)
        #expect(try root(Set<Int>.self, "__NSSet-Numbers") == [1, 2, 3, 4, 5])
        #expect(try root(String.self, "__plainString") == "Some string!")
        #expect(try root(Data.self, "__nsData") == Data("Some data!".utf8))
        #expect(try root(UUID.self, "__UUIDv4.xml").uuidString == "E98A110A-1409-47AB-B9C9-66F2633F570F")
        let urls = try root([String: URL].self, "__reference.bin")
        #expect(urls["copyOne"] == urls["copyTwo"] && urls["copyOne"]?.host() == "example.com")
    }

    /// Opens a property list that need not be an archive.
    private func propertyList(_ bytes: [UInt8]) throws -> PlistTable {
        let owner = ArchiveBytes(bytes)
        return try PlistTable.open(
            owner, try ArchiveFormat.detect(owner.bytes, limits: ArchiveLimits()), limits: ArchiveLimits())
    }

    @Test("No broken or hostile input traps, hangs or is expensive")
    func malformedInFixture() throws {
        let archives = try Fixtures.malformed()
        #expect(Fixtures.isCount(archives.count, ofOthers: 229, own: 200))
        var opened: Set<String> = []
        var readable: Set<String> = []
        for archive in archives {
            let (file, bytes) = (archive.name, archive.bytes)
            let start = computingTime()
            do {
                let graph = try ArchivedGraph(bytes, anyArchiver: true)
                opened.insert(file)
                for format in [ArchiveFormat.binary, .xml] {
                    // XML cannot share values: a graph with too much sharing is refused.
                    guard let again = try? graph.bytes(format: format) else { continue }
                    #expect(try ArchivedGraph(again, anyArchiver: true) == graph, "\(file)")
                }
                _ = graph.description
                _ = graph.hashValue
            } catch let error as ArchiveError {
                #expect(!error.message.isEmpty)
            }
            if let table = try? propertyList(bytes) {
                readable.insert(file)
                let xml = try? XMLPlistWriter.array(ArchiveBytes(Array(table.file)), limits: ArchiveLimits())
                if let xml { _ = try propertyList(xml) }
            }
            #expect((computingTime() - start) / Effort.unit < Effort.bound, "\(file)")
        }
        func one(_ part: String) throws -> String { try #require(archives.first { $0.name.contains(part) }).name }
        for part in [
            "__ka-deep-2k-nsarray.plist", "__ka-dag-bomb-40.plist", "__ka-array-contains-itself.plist",
            "__ka-nonascii-key.plist", "__ka-root-uid-0.plist",
        ] {
            #expect(opened.contains(try one(part)), "\(part) is valid")
        }
        for part in ["__xml-utf16-bom.plist", "__plist-deep-3k-arrays.bplist"] {
            #expect(readable.contains(try one(part)), "\(part) is a property list")
        }
        for part in ["__ka-root-uid-2^32+1.plist", "__ka-class-oob.plist", "__ka-xml-uid-2p64.plist"] {
            #expect(!opened.contains(try one(part)), "\(part) is broken")
        }
        for part in [
            "__plist-claims-2e9-objects.bplist", "__binary_circular_array.plist", "__xml-entity-bomb.plist",
        ] {
            #expect(!readable.contains(try one(part)), "\(part) is broken")
        }
    }
}
