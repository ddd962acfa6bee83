import Foundation
import Testing

@testable import KeyedArchive

@Suite("Archives that others wrote", .enabled(if: Fixtures.areThere, Fixtures.comment))
struct FixtureTests {
    @Test("Each real archive opens, and is the same graph when it was written, as binary and as XML")
    func real() throws {
        let rows = try Fixtures.table("real.tsv")
        #expect(rows.count == 144)
        for (file, columns) in rows {
            do {
                let graph = try ArchivedGraph(Fixtures.bytes("real", file), anyArchiver: true)
                #expect(graph.objects.count == Int(columns[9]), "\(file)")
                #expect(graph.roots.keys.sorted().joined(separator: ";") == sortedKeys(columns[11]), "\(file)")
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

    private func sortedKeys(_ list: String) -> String {
        list.split(separator: ";").map(String.init).sorted().joined(separator: ";")
    }

    @Test("A graph of a real archive of which each object was replaced by itself is the same, too")
    func rebuilt() throws {
        for (file, _) in try Fixtures.table("real.tsv") {
            let graph = try ArchivedGraph(Fixtures.bytes("real", file), anyArchiver: true)
            var rebuilt = graph
            for index in graph.objects.indices { try rebuilt.replace(index, with: graph.objects[index]) }
            #expect(rebuilt == graph, "\(file)")
            #expect(try ArchivedGraph(rebuilt.bytes(format: .binary), anyArchiver: true) == graph, "\(file)")
        }
    }

    @Test("Values of real archives are those another decoder found")
    func expected() throws {
        let rows = try Fixtures.table("expected.tsv")
        #expect(rows.count == 36)
        for (file, columns) in rows {
            let graph = try ArchivedGraph(Fixtures.bytes("real", file))
            let root = try #require(graph.roots.values.first)
            #expect(CanonicalText(graph).text(root) == columns[1], "\(file)")
        }
    }

    @Test("Archives of others are read into Swift's values, or refused with an error")
    func values() throws {
        var opened = 0
        for (folder, table) in [("real", "real.tsv"), ("malformed", "malformed.tsv")] {
            for (file, _) in try Fixtures.table(table) {
                let bytes = try Fixtures.bytes(folder, file)
                let start = computingTime()
                do {
                    let unarchiver = try KeyedUnarchiver(bytes)
                    for key in unarchiver.keys {
                        if (try? unarchiver.decode(PropertyList.self, forKey: key)) != nil { opened += 1 }
                        _ = try? unarchiver.decodeIfPresent([String: PropertyList].self, forKey: key)
                        _ = try? unarchiver.decode(Foo.self, forKey: key)
                        _ = try? unarchiver.decode(Everything.self, forKey: key)
                        _ = try? unarchiver.decode(Decimal.self, forKey: key)
                    }
                } catch {
                    #expect(error is ArchiveError, "\(file): \(error)")
                }
                #expect((computingTime() - start) / Effort.unit < Effort.bound, "\(file)")
            }
        }
        // The roots that consist of values of Swift's alone, in the files that are here.
        #expect(opened == 63)
    }

    @Test("Some values of real archives, as Swift's")
    func someValues() throws {
        func root<T: Decodable>(_ type: T.Type, _ file: String) throws -> T {
            let unarchiver = try KeyedUnarchiver(Fixtures.bytes("real", file))
            return try unarchiver.decode(type, forKey: try #require(unarchiver.keys.first))
        }
        #expect(
            try root([String].self, "swift-corelibs-foundation__NSKeyedUnarchiver-ArrayTest__43f094.plist").count == 4)
        #expect(try root(Set<Int>.self, "swift-corelibs-foundation__NSSet-Numbers__a84b1f.archive") == [1, 2, 3, 4, 5])
        #expect(try root(String.self, "nskeyedunarchiver__plainString__8d9581.plist") == "Some string!")
        #expect(try root(Data.self, "nskeyedunarchiver__nsData__c8bfc7.plist") == Data("Some data!".utf8))
        #expect(
            try root(UUID.self, "NSKeyedUnarchiver__UUIDv4.xml__ffd45e.plist").uuidString
                == "E98A110A-1409-47AB-B9C9-66F2633F570F")
        let urls = try root([String: URL].self, "NSKeyedUnarchiver__reference.bin__0d34d2.plist")
        #expect(urls["copyOne"] == urls["copyTwo"] && urls["copyOne"]?.host() == "example.com")
    }

    /// A property list that need not be an archive.
    private func propertyList(_ bytes: [UInt8]) throws -> PlistTable {
        let owner = ArchiveBytes(bytes)
        return try PlistTable.open(
            owner, try ArchiveFormat.recognise(owner.bytes, limits: Limits()), limits: Limits())
    }

    @Test("No broken or hostile input traps, hangs or is expensive")
    func malformed() throws {
        let rows = try Fixtures.table("malformed.tsv")
        #expect(rows.count == 229)
        var opened: Set<String> = []
        var readable: Set<String> = []
        for (file, _) in rows {
            let bytes = try Fixtures.bytes("malformed", file)
            let start = computingTime()
            do {
                let graph = try ArchivedGraph(bytes, anyArchiver: true)
                opened.insert(file)
                for format in [ArchiveFormat.binary, .xml] {
                    // XML has no room for what is shared without bound.
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
                let xml = try? XMLPlistWriter.array(ArchiveBytes(Array(table.file)), limits: Limits())
                if let xml { _ = try propertyList(xml) }
            }
            #expect((computingTime() - start) / Effort.unit < Effort.bound, "\(file)")
        }
        for file in [
            "generated-here__ka-deep-2k-nsarray.plist", "generated-here__ka-dag-bomb-40.plist",
            "generated-here__ka-array-contains-itself.plist", "generated-here__ka-nonascii-key.plist",
            "generated-here__ka-root-uid-0.plist",
        ] {
            #expect(opened.contains(file), "\(file) is valid")
        }
        for file in ["generated-here__xml-utf16-bom.plist", "generated-here__plist-deep-3k-arrays.bplist"] {
            #expect(readable.contains(file), "\(file) is a property list")
        }
        for file in [
            "generated-here__ka-root-uid-2^32+1.plist", "generated-here__ka-class-oob.plist",
            "generated-here__ka-xml-uid-2p64.plist",
        ] {
            #expect(!opened.contains(file), "\(file) is broken")
        }
        for file in [
            "generated-here__plist-claims-2e9-objects.bplist", "rust-plist__binary_circular_array.plist",
            "generated-here__xml-entity-bomb.plist",
        ] {
            #expect(!readable.contains(file), "\(file) is broken")
        }
    }
}
