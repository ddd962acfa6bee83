import ArchiveFixtures
import Foundation
import KeyedArchive
import TestSupport
import Testing

#if canImport(FoundationCoding)
    import FoundationCoding
#endif

@Suite("distant convert --keyed")
struct KeyedTranslationTests {
    private typealias Bytes = TypedStreamBytes

    private let scratch: TemporaryFolder

    init() throws {
        scratch = try TemporaryFolder()
    }

    private func run(_ arguments: [String]) async throws -> Program.Outcome {
        try await Program.run("distant", arguments, in: scratch)
    }

    /// The keyed archive that becomes of the bytes of a typedstream.
    private func translated(_ bytes: [UInt8], _ format: String = "binary") async throws -> [UInt8] {
        let (typed, keyed) = (scratch.path("a.ts"), scratch.path("a.keyed"))
        try Data(bytes).write(to: URL(fileURLWithPath: typed))
        let outcome = try await run(["convert", "--keyed", "--to", format, typed, keyed])
        #expect(outcome.status == 0, "\(outcome.errors)")
        return Array(try Data(contentsOf: URL(fileURLWithPath: keyed)))
    }

    private func root(of graph: ArchivedGraph) -> ArchivedObject? {
        if case .reference(let index)? = graph.roots["root"] { graph.objects[index] } else { nil }
    }

    /// A new string object of a class that is not known yet; strings from 6 on are its names.
    private func string(_ text: String) -> [UInt8] {
        [0x84, 0x84] + Bytes.new("NSString") + [1, 0x84] + Bytes.new("NSObject") + [0] + Bytes.null + Bytes.new("+")
            + Bytes.text(text) + Bytes.end
    }

    @Test("Strings, numbers, dates, data and collections are what Swift reads of a keyed archive")
    func valuesInKeyedTranslation() async throws {
        // Labels: 0 the dictionary, 1 its class, 2 a string, 3 and 4 its classes, 5 a number, 6 its class, 7 its type.
        let dictionary = Bytes.file(
            Bytes.new("@"), Bytes.object("NSDictionary"), Bytes.new("i"), [2], Bytes.reference(0), string("a"),
            Bytes.reference(0), Bytes.object("NSNumber"), Bytes.new("*"), [0x84], Bytes.new("q"), Bytes.reference(8),
            [5], Bytes.end, Bytes.reference(0), [0x84], Bytes.reference(3), Bytes.reference(5), Bytes.text("b"),
            Bytes.end,
            Bytes.reference(0), Bytes.reference(5), Bytes.end)
        for format in ["binary", "xml", "compact"] {
            let bytes = try await translated(dictionary, format)
            #expect(try KeyedUnarchiver.unarchive([String: Int].self, from: bytes) == ["a": 5, "b": 5])
        }
        let graph = try ArchivedGraph(try await translated(dictionary))
        // The number is one object, to which both entries refer.
        guard case .list(let objects)? = root(of: graph)?["NS.objects"] else {
            Issue.record("\(graph)")
            return
        }
        #expect(objects[0] == objects[1])
        let date = Bytes.file(Bytes.new("@"), Bytes.object("NSDate"), Bytes.new("d"), [7], Bytes.end)
        #expect(
            try KeyedUnarchiver.unarchive(Date.self, from: await translated(date))
                == Date(timeIntervalSinceReferenceDate: 7))
        let data = Bytes.file(
            Bytes.new("@"), Bytes.object("NSMutableData"), Bytes.new("i"), [2], Bytes.new("[2c]"), [1, 2], Bytes.end)
        #expect(try KeyedUnarchiver.unarchive(Data.self, from: await translated(data)) == Data([1, 2]))
        let null = Bytes.file(Bytes.new("@"), string("$null"))
        #expect(try KeyedUnarchiver.unarchive(String.self, from: await translated(null)) == "$null")
        let url = Bytes.file(
            Bytes.new("@"), Bytes.object("NSURL"), Bytes.new("c"), [0], Bytes.reference(0), string("http://a/b"),
            Bytes.end)
        #expect(
            try KeyedUnarchiver.unarchive(URL.self, from: await translated(url)).absoluteString == "http://a/b")
    }

    @Test("A range keeps each number, a URL is percent-encoded, and numbers that no keyed archive has are refused")
    func extremes() async throws {
        func value(_ type: String, _ content: [UInt8]) -> [UInt8] {
            Bytes.file(
                Bytes.new("@"), Bytes.object("NSValue"), Bytes.new("*"), [0x84], Bytes.new(type), Bytes.reference(3),
                content, Bytes.end)
        }
        let range = value("{_NSRange=QQ}", [3] + Bytes.number(Int.max))
        let record = root(of: try ArchivedGraph(try await translated(range)))
        #expect(record?["NS.rangeval.location"] == .integer(3) && record?["NS.rangeval.length"] == .integer(.max))
        let url = Bytes.file(
            Bytes.new("@"), Bytes.object("NSURL"), Bytes.new("c"), [0], Bytes.reference(0), string("http://a/é"),
            Bytes.end)
        let opened = try KeyedUnarchiver.unarchive(URL.self, from: await translated(url))
        #expect(opened.absoluteString == "http://a/%C3%A9")
        let bits: [UInt8] = [0x83, 0, 0, 0, 0, 0, 0, 0xF8, 0x7F]
        for (content, reason) in [
            (value("{CGPoint=dd}", bits + [0]), "a number that is not finite"),
            (value("{_NSRange=QQ}", [3, 0xFF]), "a range that does not fit"),
        ] {
            let path = scratch.path("extreme.ts")
            try Data(content).write(to: URL(fileURLWithPath: path))
            let outcome = try await run(["convert", "--keyed", "--to", "xml", path, scratch.path("extreme.xml")])
            #expect(outcome.status == 1 && outcome.errors.contains(reason), "\(outcome.errors)")
        }
    }

    @Test("An attributed string keeps its runs, and a rectangle its numbers")
    func othersInKeyedTranslation() async throws {
        // Labels: 0 the text with its class 1, 2 a string, 3 and 4 its classes, 5 a dictionary, 6 its class.
        let text = Bytes.file(
            Bytes.new("@"), Bytes.object("NSAttributedString"), Bytes.reference(0), string("ab"), Bytes.new("iI"),
            [1, 1],
            Bytes.reference(0), Bytes.object("NSDictionary"), Bytes.new("i"), [0], Bytes.end, Bytes.reference(5),
            [2, 1], Bytes.reference(0), [0x84], Bytes.reference(6), Bytes.reference(7), [0], Bytes.end, Bytes.end)
        let graph = try ArchivedGraph(try await translated(text))
        let record = try #require(root(of: graph)?.record)
        #expect(
            record.typeName == "NSAttributedString" && record.keys == ["NSString", "NSAttributes", "NSAttributeInfo"])
        func object(_ key: String) -> ArchivedObject? {
            if case .reference(let index)? = record[key] { graph.objects[index] } else { nil }
        }
        #expect(object("NSString")?.plainValue == .string("ab"))
        #expect(object("NSAttributeInfo")?.plainValue == .data(Data([1, 0, 1, 1])))
        guard case .list(let runs)? = object("NSAttributes")?["NS.objects"] else {
            Issue.record("\(graph)")
            return
        }
        #expect(runs.count == 2 && runs[0] != runs[1])
        #if canImport(FoundationCoding)
            let unarchiver = try NSCodingUnarchiver(forReadingFrom: Data(await translated(text)))
            let opened = unarchiver.decodeObject(of: [NSAttributedString.self], forKey: "root") as? NSAttributedString
            #expect(opened?.string == "ab", "\(unarchiver.error.map { "\($0)" } ?? "")")
        #endif
        let type = "{_NSRect={_NSPoint=ff}{_NSSize=ff}}"
        let rectangle = Bytes.file(
            Bytes.new("@"), Bytes.object("NSValue"), Bytes.new("*"), [0x84], Bytes.new(type), Bytes.reference(3),
            [1, 0x83, 0, 0, 0, 0x3F, 3, 4], Bytes.end)
        let value = try ArchivedGraph(try await translated(rectangle))
        #expect(root(of: value)?["NS.special"] == .integer(3))
        #expect(value.objects.contains { $0.plainValue == .string("{{1, 0.5}, {3, 4}}") })
        #if canImport(FoundationCoding)
            let values = try NSCodingUnarchiver(forReadingFrom: Data(await translated(rectangle)))
            let box = values.decodeObject(of: [NSValue.self], forKey: "root") as? NSValue
            #expect(box?.rectValue == NSRect(x: 1, y: 0.5, width: 3, height: 4))
        #endif
    }

    @Test("A calendar date becomes a date without its format, and nothing else is in the archive")
    func calendarDate() async throws {
        // What the archive stores as strings: 0 the type of an object, 1 the class, 2 the type of the time.
        let bytes = try await translated(
            Bytes.file(
                Bytes.new("@"), Bytes.object("NSCalendarDate"), Bytes.new("d"), [7], Bytes.reference(0), string("%Y"),
                Bytes.reference(0), Bytes.null, Bytes.end))
        let graph = try ArchivedGraph(bytes)
        #expect(root(of: graph)?.className == "NSDate" && root(of: graph)?["NS.time"] == .double(bits: 7.0.bitPattern))
        // Nil, the date, and its class.
        #expect(graph.objects.count == 3, "\(graph)")
        let date = Date(timeIntervalSinceReferenceDate: 7)
        #expect(try KeyedUnarchiver.unarchive(Date.self, from: bytes) == date)
        #if canImport(FoundationCoding)
            let opened = try NSCodingUnarchiver.unarchivedObject(ofClass: NSDate.self, from: Data(bytes))
            #expect(opened as Date? == date)
        #endif
    }

    @Test("Decimal numbers keep all digits")
    func decimalsInKeyedTranslation() async throws {
        // 4 is the type of the sign, 1,234 the digits.
        let bytes = try await translated(
            Bytes.file(
                Bytes.new("@"), Bytes.object("NSDecimalNumberPlaceholder"), Bytes.new("i"), Bytes.number(-2),
                Bytes.new("S"), [1], Bytes.new("C"), [1], Bytes.reference(4), [1], Bytes.new("I"), [8],
                Bytes.new("[8S]"), Bytes.number(1234), [0, 0, 0, 0, 0, 0, 0], Bytes.end))
        #expect(try KeyedUnarchiver.unarchive(Decimal.self, from: bytes) == Decimal(string: "-12.34"))
        let wrong = Bytes.file(
            Bytes.new("@"), Bytes.object("NSDecimalNumberPlaceholder"), Bytes.new("i"), [1], Bytes.end)
        let path = scratch.path("wrong")
        try Data(wrong).write(to: URL(fileURLWithPath: path))
        let outcome = try await run(["convert", "--keyed", "--to", "xml", path, scratch.path("c")])
        #expect(outcome.errors.contains("NSDecimalNumberPlaceholder #0: has other values"), "\(outcome.errors)")
        #if canImport(FoundationCoding)
            let texts = ["0", "1", "-0.001", "12345678901234567890123456789012345678e-120", "9e127", "NaN"]
            let numbers = texts.map { NSDecimalNumber(string: $0) }
            let archiver = NSCodingTypedStreamArchiver()
            archiver.encodeRootObject(numbers as NSArray)
            let keyed = try await translated(Array(try archiver.data()))
            let unarchiver = try NSCodingUnarchiver(forReadingFrom: Data(keyed))
            let copies =
                unarchiver.decodeObject(of: [NSArray.self, NSDecimalNumber.self], forKey: "root") as? [NSDecimalNumber]
            #expect(copies?.map(\.stringValue) == numbers.map(\.stringValue), "\(String(describing: unarchiver.error))")
            // The same as the keyed archiver writes, key by key.
            let own = NSCodingArchiver()
            own.encode(numbers as NSArray, forKey: "root")
            let expected = try own.graph().objects.compactMap(\.record).filter { $0.typeName == "NSDecimalNumber" }
            let found = try ArchivedGraph(keyed).objects.compactMap(\.record).filter {
                $0.typeName == "NSDecimalNumber"
            }
            #expect(found.map(\.keys) == expected.map(\.keys) && found.map(\.values) == expected.map(\.values))
        #endif
    }

    @Test("Other classes are refused by name, and so is what is not one object or no typedstream")
    func refusalsInKeyedTranslation() async throws {
        let other = Bytes.file(
            Bytes.new("@"), Bytes.object("NSArray"), Bytes.new("i"), [2], Bytes.reference(0), Bytes.object("NSFont"),
            Bytes.end, Bytes.reference(0), Bytes.object("Shape"), Bytes.end, Bytes.end)
        let wrong = Bytes.file(Bytes.new("@"), Bytes.object("NSArray"), Bytes.new("i"), [2], Bytes.end)
        let several = Bytes.file(Bytes.new("i"), [1], Bytes.new("@"), Bytes.null)
        let keyed = try KeyedArchiver.archive(1, format: .xml)
        for (bytes, reason) in [
            (other, "and not those of: NSFont, Shape"), (wrong, "NSArray #0: has other values"),
            (several, "one root"), (keyed, "--keyed is for typedstreams only"),
        ] {
            let path = scratch.path("b")
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            let outcome = try await run(["convert", "--keyed", "--to", "xml", path, scratch.path("c")])
            #expect(outcome.status == 1 && outcome.errors.contains(reason), "\(outcome.errors)")
        }
        let usage = try await run(["convert", "--keyed", "--to", "json", "a", "b"])
        #expect(usage.status == 2 && usage.errors.contains("binary, xml or compact only"), "\(usage.errors)")
    }

    @Test("Each typedstream of Foundation's objects becomes a keyed archive that opens, and others name their classes")
    func fixturesInKeyedTranslation() async throws {
        var count = 0
        for archive in try Fixtures.typedstreams() {
            let (typed, keyed) = (scratch.path("a.ts"), scratch.path("a.plist"))
            try archive.data.write(to: URL(fileURLWithPath: typed))
            let outcome = try await run(["convert", "--keyed", "--to", "binary", typed, keyed])
            guard outcome.status == 0 else {
                #expect(outcome.status == 1 && outcome.errors.contains("cannot be written as binary: "))
                continue
            }
            count += 1
            let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: keyed)))
            let graph = try ArchivedGraph(bytes)
            let stream = try TypedStreamGraph(archive.bytes)
            var strings: Set<String> = []
            for case .object(let object) in stream.labels {
                for group in object.groups {
                    for case .text(let text) in group.values { strings.insert(text.description) }
                }
            }
            var found: Set<String> = []
            for object in graph.objects {
                if case .string(let text)? = object.plainValue ?? object["NS.string"] { found.insert(text) }
            }
            // URLs are percent-encoded.
            found.formUnion(found.compactMap(\.removingPercentEncoding))
            #expect(strings.isSubset(of: found), "\(archive.name)")
        }
        #expect(count >= (Fixtures.areOfOthers ? 12 : 1), "\(count)")
    }
}
