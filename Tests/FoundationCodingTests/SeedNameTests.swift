import Foundation
import FoundationCoding
import FoundationNetworking
import KeyedArchive
import TestSupport
import Testing

@Suite("What programs written for Foundation call, and archives they make")
struct SeedNameTests {
    @Test("An archiver writes into mutable data, and an unarchiver made of it allows any class")
    func olderInitialisers() throws {
        let data = NSMutableData()
        let archiver = NSCodingArchiver(forWritingWith: data)
        archiver.encode(Foo(name: "James", age: 40), forKey: "myfoo")
        archiver.encode(Bar(), forKey: "mybar")
        #expect(data.length == 0)
        archiver.finishEncoding()
        let unarchiver = NSCodingUnarchiver(forReadingWith: data as Data)
        #expect((unarchiver.decodeObject(forKey: "myfoo") as? Foo)?.age == 40)
        #expect((unarchiver.decodeObject(forKey: "mybar") as? Bar)?.foos.count == 2)
        unarchiver.finishDecoding()
        #expect(unarchiver.error == nil)
        let broken = NSCodingUnarchiver(forReadingWith: Data("no archive".utf8))
        #expect(broken.decodeObject(forKey: "myfoo") == nil)
        #expect(broken.error != nil)
    }

    @Test("Sequential archives are written and read by the calls for files, too")
    func sequentialFiles() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("employee-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let employee = Employee(first: "Ada", last: "Lovelace", number: 12)
        NSCodingSequentialArchiver.archiveRootObject(employee, toFile: path)
        let back = NSCodingSequentialUnarchiver.unarchiveObject(withFile: path) as? Employee
        #expect(back?.number == 12)
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(
            try NSCodingSequentialUnarchiver.unarchivedObject(
                ofClass: Employee.self, from: data, requiringSecureCoding: false)?.last == "Lovelace")
        let error = #expect(throws: ArchiveError.self) { try NSCodingUnarchiver.unarchiveObject(with: data) }
        #expect(error?.message == "a sequential archive: open it with an NSCodingSequentialUnarchiver")
        let keyed = try NSCodingArchiver.archivedData(withRootObject: employee)
        let other = #expect(throws: ArchiveError.self) { try NSCodingSequentialUnarchiver.unarchiveObject(with: keyed) }
        #expect(other?.message == "an archive with keys: open it with an NSCodingUnarchiver")
        #expect(throws: ArchiveError.self) {
            try NSCodingSequentialArchiver.archivedData(withRoots: ["employee": employee])
        }
        // Converting to another format and back loses nothing.
        let compact = try ArchivedGraph(data, anyArchiver: true).bytes(format: .compact)
        let again = try ArchivedGraph(compact, anyArchiver: true).bytes(format: .binary)
        for bytes in [compact, again] {
            let copy = try NSCodingSequentialUnarchiver.unarchivedObject(with: Data(bytes)) as? Employee
            #expect(copy?.first == "Ada")
        }
    }

    /// The same classes, written for this library.
    private final class CodedFoo: ObjectCoding {
        static var className: String { "Foo" }
        let name: String
        let age: Int
        init(coder: ObjectDecoder) throws {
            name = try coder.decode(String.self, forKey: "name")
            age = try coder.decode(Int.self, forKey: "age")
        }
        func encode(with coder: ObjectEncoder) throws {}
    }

    private final class CodedBar: ObjectCoding {
        static var className: String { "Bar" }
        let foos: [CodedFoo]
        init(coder: ObjectDecoder) throws { foos = try coder.decode([CodedFoo].self, forKey: "foos") }
        func encode(with coder: ObjectEncoder) throws {}
    }

    @Test("What the archiver writes in the compact format opens in this library's classes, and survives conversion")
    func compactInSeedName() throws {
        let data = try NSCodingArchiver.archivedData(
            withRoots: ["mybar": Bar(), "myfoo": Foo(name: "James", age: 40)], format: .compact)
        let unarchiver = try KeyedUnarchiver(data)
        #expect(try unarchiver.decode(CodedBar.self, forKey: "mybar").foos.map(\.name) == ["Juliana", "Nicolas"])
        #expect(try unarchiver.decode(CodedFoo.self, forKey: "myfoo").age == 40)
        for format in [ArchiveFormat.binary, .xml, .compact] {
            let converted = Data(try ArchivedGraph(data).bytes(format: format))
            let bar = NSCodingUnarchiver(forReadingWith: converted).decodeObject(forKey: "mybar") as? Bar
            #expect(bar?.foos.compactMap { ($0 as? Foo)?.age } == [7, 3])
            // Foundation cannot read the compact format.
            guard format != .compact else { continue }
            let foundation = try NSKeyedUnarchiver(forReadingFrom: converted)
            foundation.requiresSecureCoding = false
            #expect((foundation.decodeObject(forKey: "mybar") as? Bar)?.foos.count == 2)
        }
    }

    @Test("A request comes back, by class and among others; one that lacks something is an error")
    func requests() throws {
        let request = NSMutableURLRequest(url: try #require(URL(string: "http://a/b")))
        request.httpMethod = "POST"
        request.setValue("x", forHTTPHeaderField: "H")
        let data = try NSCodingArchiver.archivedData(withRootObject: request)
        let back = try #require(try NSCodingUnarchiver.unarchivedObject(ofClass: NSMutableURLRequest.self, from: data))
        #expect(back.url == request.url && back.httpMethod == "POST" && back.value(forHTTPHeaderField: "H") == "x")
        #expect((try NSCodingUnarchiver.unarchiveObject(with: data) as? NSMutableURLRequest)?.url == request.url)
        let graph = try ArchivedGraph(data)
        let index = try #require(graph.objects.firstIndex { $0.record?.typeName.contains("URLRequest") == true })
        for key in graph.objects[index].record?.keys ?? [] {
            for value in [ArchivedValue.reference(0), .integer(99), .string("x")] {
                var broken = graph
                try broken.setValue(value, forKey: key, of: index)
                _ = try? NSCodingUnarchiver.unarchivedObject(
                    ofClass: NSMutableURLRequest.self, from: Data(broken.bytes(format: .binary)))
            }
        }
    }

    @Test("A URL with a text that only NSURL takes is an error, also as a base", arguments: ["", "http://-]"])
    func unreadableURLs(text: String) throws {
        let url = try #require(NSURL(string: "b/c", relativeTo: URL(string: "http://a/")))
        let data = try NSCodingArchiver.archivedData(withRootObject: url)
        let graph = try ArchivedGraph(data)
        let urls = graph.objects.indices.filter { graph.objects[$0].record?.keys.contains("NS.relative") == true }
        #expect(urls.count == 2)
        let whole = try NSCodingUnarchiver.unarchivedObject(ofClass: NSURL.self, from: data)
        #expect(whole?.absoluteString == "http://a/b/c")
        for index in urls {
            var broken = graph
            try broken.setValue(.string(text), forKey: "NS.relative", of: index)
            // An empty text after a base is the base itself.
            let isRead = text.isEmpty && index == urls.first
            let bytes = Data(try broken.bytes(format: .binary))
            let back = try? NSCodingUnarchiver.unarchivedObject(ofClass: NSURL.self, from: bytes)
            #expect((back != nil) == isRead)
            if let back { #expect((back as URL).absoluteString == "http://a/") }
        }
    }

    @Test("Archived Foundation classes open without secure coding")
    func otherClassesInSeedName() throws {
        let interval = NSDateInterval(start: Date(timeIntervalSinceReferenceDate: 5), duration: 3)
        let url = try #require(URL(string: "http://a/b"))
        let response = URLResponse(url: url, mimeType: "m", expectedContentLength: 3, textEncodingName: "u")
        for object in [interval, response, DateFormatter(), NumberFormatter(), LengthFormatter()] as [NSObject] {
            let data = try NSCodingArchiver.archivedData(withRootObject: object)
            let back = try NSCodingUnarchiver.unarchiveObject(with: data) as? NSObject
            #expect(back.map { type(of: $0) == type(of: object) } == true, "\(type(of: object))")
            guard object === interval else { continue }
            #expect((back as? NSDateInterval)?.startDate == interval.startDate)
            #expect((back as? NSDateInterval)?.duration == interval.duration)
        }
    }

    @Test("A counted set of many objects is decoded in time that grows with their number")
    func countedSetInSeedName() throws {
        func time(_ count: Int) throws -> Duration {
            let set = NSCountedSet(array: (0..<count).map { NSNumber(value: $0) })
            let data = try NSCodingArchiver.archivedData(withRootObject: set)
            let start = computingTime()
            let back = try NSCodingUnarchiver.unarchivedObject(
                ofClasses: [NSCountedSet.self, NSNumber.self], from: data)
            #expect((back as? NSCountedSet)?.count == count)
            return computingTime() - start
        }
        // With quadratic time, ten times as many would take a hundred times as long.
        let few = try time(2_000)
        #expect(try time(20_000) < few * 40)
    }
}
