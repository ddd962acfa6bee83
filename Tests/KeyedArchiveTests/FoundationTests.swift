import Foundation
import Testing

@testable import KeyedArchive

/// An employee in the style of old classes: with keys if the coder allows them, otherwise in order.
final class Employee: ObjectCoding {
    let first: String
    let last: String
    let number: Int

    init(_ first: String, _ last: String, _ number: Int) {
        self.first = first
        self.last = last
        self.number = number
    }

    init(coder: ObjectDecoder) throws {
        if coder.allowsKeyedCoding {
            number = try coder.decode(Int.self, forKey: "Number")
            first = try coder.decode(String.self, forKey: "First")
            last = try coder.decode(String.self, forKey: "Last")
        } else {
            first = try coder.decode(String.self)
            last = try coder.decode(String.self)
            number = try coder.decode(Int.self)
        }
    }

    func encode(with coder: ObjectEncoder) throws {
        if coder.allowsKeyedCoding {
            try coder.encode(first, forKey: "First")
            try coder.encode(last, forKey: "Last")
            try coder.encode(number, forKey: "Number")
        } else {
            try coder.encode(first)
            try coder.encode(last)
            try coder.encode(number)
        }
    }
}

@Suite("Foundation's unarchiver reads what this library writes")
struct FoundationTests {
    /// The values that Foundation finds, by key; read in another process, as Foundation may crash.
    private func read(_ bytes: [UInt8], _ keys: [String]) throws -> [String: String] {
        let file = FileManager.default.temporaryDirectory.appending(path: "foundation-\(UUID().uuidString)")
        try Data(bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        process.executableURL = Self.reader
        process.arguments = [file.path] + keys
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(keys): \(text)")
        var found: [String: String] = [:]
        for line in text.split(separator: "\n") {
            guard let separator = line.firstRange(of: " = ") else { continue }
            found[String(line[..<separator.lowerBound])] = String(line[separator.upperBound...])
        }
        return found
    }

    /// The reader, which is built next to the tests, in a folder of the running image.
    private static let reader: URL? = {
        for image in [Bundle(for: Employee.self).bundlePath, "/proc/self/exe", CommandLine.arguments[0]] {
            var folder = URL(filePath: image).resolvingSymlinksInPath()
            for _ in 0..<6 {
                let file = folder.appending(path: "foundation-reader")
                if FileManager.default.isExecutableFile(atPath: file.path) { return file }
                folder.deleteLastPathComponent()
            }
        }
        return nil
    }()

    @Test("Foo, Bar and Employee, and an object shared in a list", arguments: [ArchiveFormat.binary, .xml])
    func graphsInFoundation(_ format: ArchiveFormat) throws {
        let foo = Foo("James", 40)
        let archiver = KeyedArchiver(format: format)
        try archiver.encode(foo, forKey: "myfoo")
        try archiver.encode(Bar([foo, Foo("Nicolas", -3), foo]), forKey: "mybar")
        try archiver.encode(Employee("Ada", "Lövelace 🥪", 1815), forKey: "employee")
        try archiver.encode(Foo?.none, forKey: "nobody")
        let found = try read(archiver.finish(), ["object:myfoo", "object:mybar", "object:employee", "object:nobody"])
        #expect(found["myfoo"] == "Foo(James, 40)")
        #expect(found["mybar"] == "Bar[Foo(James, 40), Foo(Nicolas, -3), Foo(James, 40)] shared")
        #expect(found["employee"] == "Employee(Ada, Lövelace 🥪, 1815)")
        #expect(found["nobody"] == "nil")
    }

    @Test("An employee without keys, as Foundation's coder calls without keys see it")
    func sequentialInFoundation() throws {
        let archiver = SequentialArchiver(format: .binary)
        try archiver.encode(Employee("Ada", "Lovelace", 1815))
        #expect(try read(archiver.finish(), ["unkeyed:object"])["object"] == "Employee(Ada, Lovelace, 1815)")
    }

    @Test("Values of each kind")
    func valuesInFoundation() throws {
        let uuid = UUID()
        let archiver = KeyedArchiver(format: .binary)
        let expected: [(String, String)] = [
            ("integer:int", "-5"), ("integer:big", "\(Int.max)"), ("double:double", "0.1"), ("float:float", "0.25"),
            ("bool:bool", "true"), ("object:text", "\"é\""), ("object:empty", "\"\""), ("object:data", "<1 ff>"),
            ("object:date", "date 1.5"), ("object:uuid", "uuid \(uuid.uuidString)"), ("object:url", "url http://a/b"),
            ("object:relative", "url http://a/b/c"),
            ("object:list", "[\"a\", null]"), ("object:numbers", "[1, 2]"), ("object:set", "set[\"x\", \"y\"]"),
            ("object:map", "[\"k\": date 2.0]"), ("object:point", "[\"x\": 1, \"y\": 2]"),
            ("object:points", "[[\"x\": 1, \"y\": 2]]"), ("object:nested", "[[], [1]]"), ("object:$dollar", "\"d\""),
        ]
        try archiver.encode(-5, forKey: "int")
        try archiver.encode(Int.max, forKey: "big")
        try archiver.encode(0.1, forKey: "double")
        try archiver.encode(Float(0.25), forKey: "float")
        try archiver.encode(true, forKey: "bool")
        try archiver.encode("é", forKey: "text")
        try archiver.encode("", forKey: "empty")
        try archiver.encode(Data([1, 255]), forKey: "data")
        try archiver.encode(Date(timeIntervalSinceReferenceDate: 1.5), forKey: "date")
        try archiver.encode(uuid, forKey: "uuid")
        try archiver.encode(URL(string: "http://a/b"), forKey: "url")
        try archiver.encode(URL(string: "c", relativeTo: URL(string: "http://a/b/")), forKey: "relative")
        // No decimals: Foundation on Linux cannot read the digits of any decimal, not even its own.
        try archiver.encode(["a", nil], forKey: "list")
        try archiver.encode([1, 2], forKey: "numbers")
        try archiver.encode(Set(["x", "y"]), forKey: "set")
        try archiver.encode(["k": Date(timeIntervalSinceReferenceDate: 2)], forKey: "map")
        try archiver.encode(Point(x: 1, y: 2), forKey: "point")
        try archiver.encode([Point(x: 1, y: 2)], forKey: "points")
        try archiver.encode([[], [1]], forKey: "nested")
        try archiver.encode("d", forKey: "$dollar")
        let bytes = try archiver.finish()
        // One at a time, so that a crash on one does not hide the others.
        for (key, text) in expected {
            let name = String(key.drop { $0 != ":" }.dropFirst())
            let found = try read(bytes, [key])[name]
            #expect(found == text, "\(key)")
        }
    }
}
