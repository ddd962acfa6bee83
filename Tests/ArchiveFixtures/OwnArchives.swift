import Foundation
import KeyedArchive

/// Archives in Apple's layout that the repository's own archivers make, in place of those others wrote.
struct OwnArchives: Sendable {
    let real: Fixtures.Real
    /// The root as text, in the form of `Fixtures.expected()`, as the maker of the archive knows it.
    let text: String?

    static let all = Result { try values() + graphs() + byteWise() + foundation() }

    /// One whose count of objects and keys are taken from Foundation's reader of property lists, not from ours.
    static func made(_ name: String, _ bytes: [UInt8], _ text: String? = nil) throws -> OwnArchives {
        let list = try PropertyListSerialization.propertyList(from: Data(bytes), format: nil) as? [String: Any]
        guard let list, let objects = list["$objects"] as? [Any], let top = list["$top"] as? [String: Any] else {
            throw ArchiveError(.corrupt, "\(name) is no archive for Foundation")
        }
        // A key that begins with "$" stands there with one more.
        let keys = top.keys.map { $0.hasPrefix("$$") ? String($0.dropFirst()) : $0 }
        return made(name, bytes, objects.count, keys.sorted(), text)
    }

    private static func made(
        _ name: String, _ bytes: [UInt8], _ count: Int, _ keys: [String], _ text: String? = nil
    ) -> OwnArchives {
        let archive = Fixtures.Archive(name: "own__\(name).plist", bytes: bytes)
        return OwnArchives(real: .init(archive: archive, objectCount: count, topKeys: keys), text: text)
    }

    static let formats: [(name: String, format: ArchiveFormat)] = [("bin", .binary), ("xml", .xml)]

    // MARK: By the archivers

    /// A class with a cycle and a reference that nothing else archives.
    final class Node: ObjectCoding {
        var name: String
        var next: Node?
        weak var stray: Node?

        init(_ name: String) { self.name = name }

        init(coder: ObjectDecoder) throws {
            name = try coder.decode(String.self, forKey: "name")
            try coder.decodeReference(Node.self, forKey: "next") { self.next = $0 }
        }

        func encode(with coder: ObjectEncoder) throws {
            try coder.encode(name, forKey: "name")
            try coder.encode(next, forKey: "next")
            try coder.encodeConditional(stray, forKey: "stray")
        }
    }

    private struct Values: Codable {
        var name = "Juliana\u{1F600}\n<&>"
        var numbers = [0, -1, Int.max, Int.min]
        var reals = [1.5, -0.0, .infinity]
        var single: Float = 0.1
        var flag = true
        var none: Int?
        var data = Data(0..<200)
        var large = Data(repeating: 0xA5, count: 40_000)
        var date = Date(timeIntervalSinceReferenceDate: 729_452_449)
        var identifier = UUID()
        var url = URL(string: "http://example.com/a?b=c#d")
        var set: Set<String> = ["x", "y"]
        var map = ["k": [1, 2], "l": []]
        var wide = UInt64.max
        var decimal = Decimal(125) / 100
    }

    private static func values() throws -> [OwnArchives] {
        try formats.flatMap { name, format in
            let first = Node("first")
            let stray = Node("stray")
            first.next = Node("second")
            first.next?.next = first
            first.stray = stray
            defer { first.next = nil }
            let several = KeyedArchiver(format: format)
            try several.encode(first, forKey: "node")
            try several.encode(Values(), forKey: "values")
            try several.encode(7, forKey: "$odd")
            try several.encodeConditional(stray, forKey: "stray")
            let sequential = SequentialArchiver(format: format)
            try sequential.encode("text")
            try sequential.encode([1, 2, 3])
            var chain = Node("end")
            for number in 0..<300 {
                let node = Node("\(number)")
                node.next = chain
                chain = node
            }
            return try [
                made("several.\(name)", several.finish()), made("sequential.\(name)", sequential.finish()),
                made("chain.\(name)", KeyedArchiver.archive(chain, format: format)),
                made("values.\(name)", KeyedArchiver.archive([Values(), Values()], format: format)),
                made("number.\(name)", KeyedArchiver.archive(5, format: format)),
            ]
        }
    }

    private static func graphs() throws -> [OwnArchives] {
        try formats.flatMap { name, format in
            var other = ArchivedGraph(archiver: "SCNKeyedArchiver")
            let node = other.add(
                className: "SCNNode", version: 2, fields: [("position", .data(Data([1, 2]))), ("next", .null)])
            try other.setValue(.reference(node), forKey: "next", of: node)
            other.setRoot(.reference(node), forKey: "root")
            other.setRoot(.integer(3), forKey: "inline")
            other.setRoot(.list([.string("in line"), .map([.init(.string("k"), .double(bits: 0))])]), forKey: "list")
            return [
                made(
                    "scene.\(name)", try other.bytes(format: format), other.objects.count, ["inline", "list", "root"]),
                try made("plaso__NSKeyedArchiver.\(name)", hinted().bytes(format: format)),
            ]
        }
    }

    /// As PyObjC writes: Python's own classes, each with hints at the one of Foundation's.
    private static func hinted() throws -> ArchivedGraph {
        var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
        func type(_ name: String, _ kind: String) throws -> Int {
            let names = ["OC_Builtin\(name)", "OC_\(name)", kind, "NSObject"]
            return try graph.add(
                .classRecord(ArchivedClass(name: names[0], classes: names, hints: ["OC_\(name)", kind])))
        }
        func object(_ type: Int, _ fields: [(String, ArchivedValue)]) throws -> ArchivedValue {
            let name = graph.objects[type].className ?? ""
            let record = ArchivedRecord(
                typeName: name, classIndex: type, storedKeys: fields.map(\.0) + ["pytype"],
                values: fields.map(\.1) + [.integer(1)])
            return .reference(try graph.add(.instance(record)))
        }
        let (text, list) = (try type("PythonUnicode", "NSString"), try type("PythonArray", "NSArray"))
        let (map, data) = (try type("PythonDictionary", "NSDictionary"), try type("PythonData", "NSData"))
        let date = try type("PythonDate", "NSDate")
        let values: [(String, ArchivedValue)] = try [
            ("MyArray", object(list, [("NS.objects", .list([]))])),
            ("MyBool", .reference(graph.add(.value(.bool(true))))),
            ("MyData", object(data, [("NS.data", .data(Data("DATA\n".utf8)))])),
            ("MyDate", object(date, [("NS.time", .double(bits: (729_452_449.0).bitPattern))])),
            ("MyDictionary", object(map, [("NS.keys", .list([])), ("NS.objects", .list([]))])),
            ("MyFloat", .reference(graph.add(.value(.double(bits: (2.7).bitPattern))))),
            ("MyInteger", .reference(graph.add(.value(.integer(98))))),
            ("MyString", object(text, [("NS.string", .string("Some string"))])),
        ]
        let keys = try values.map { try object(text, [("NS.string", .string($0.0))]) }
        graph.setRoot(
            try object(map, [("NS.keys", .list(keys)), ("NS.objects", .list(values.map(\.1)))]), forKey: "root")
        return graph
    }

    // MARK: Byte by byte

    private static func byteWise() -> [OwnArchives] {
        let string = PlistBytes.text("x")
        var archives: [OwnArchives] = []
        for size in [1, 2, 4, 8, 16] {
            let bytes = PlistBytes.archive([string], uid: PlistBytes.bigEndian(1, size))
            archives.append(made("uid-\(size)", bytes, 2, ["root"], "\"x\""))
        }
        for size in [1, 2, 3, 4, 5, 8] {
            let bytes = PlistBytes.archive([string], offsetSize: max(2, size), referenceSize: size)
            archives.append(made("widths-\(size)", bytes, 2, ["root"], "\"x\""))
        }
        // Lists of the list that follows, twice.
        var lists: [[UInt8]] = (14..<18).map { [0xA2, $0, $0] }
        lists.append(string)
        archives.append(made("shared", PlistBytes.archive(lists, count: 1), 2, ["root"], nested("\"x\"", 4)))
        return archives
    }

    /// A list of the text twice, in a list of that twice, and so on.
    private static func nested(_ text: String, _ levels: Int) -> String {
        levels == 0 ? text : nested("[\(text),\(text)]", levels - 1)
    }
}
