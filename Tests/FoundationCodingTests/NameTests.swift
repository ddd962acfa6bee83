import ArchiveFixtures
import Foundation
import FoundationCoding
import KeyedArchive
import Testing

/// The class whose name is set for the whole program; other tests must not use it.
final class Renamed: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }

    override init() {}

    init?(coder: NSCoder) {}

    func encode(with coder: NSCoder) {}
}

@Suite("Class names, versions and delegates", .serialized)
struct NameTests {
    @Test("A class is written under another name and read from it, for one coder")
    func instanceNames() throws {
        let archiver = NSCodingArchiver()
        archiver.setClassName("Vertex", for: Node.self)
        #expect(archiver.className(for: Node.self) == "Vertex")
        archiver.encode(Node("n"), forKey: "root")
        let data = try archiver.data()
        #expect(try ArchivedGraph(data).objects[1].className == "Vertex")
        #expect(throws: ArchiveError.self) { try NSCodingUnarchiver.unarchivedObject(ofClass: Node.self, from: data) }

        let unarchiver = try NSCodingUnarchiver(forReadingFrom: data)
        unarchiver.setClass(Node.self, forClassName: "Vertex")
        let isSet = unarchiver.class(forClassName: "Vertex") == Node.self
        #expect(isSet)
        #expect(unarchiver.decodeObject(of: Node.self, forKey: "root")?.name == "n")
    }

    @Test("A class is written under another name and read from it, for all coders")
    func sharedNames() throws {
        NSCodingArchiver.setClassName("OldLink", for: Renamed.self)
        let data = try NSCodingArchiver.archivedData(withRootObject: Renamed())
        NSCodingArchiver.setClassName(nil, for: Renamed.self)
        #expect(NSCodingArchiver.className(for: Renamed.self) == nil)
        #expect(try ArchivedGraph(data).objects[1].className == "OldLink")
        NSCodingUnarchiver.setClass(Renamed.self, forClassName: "OldLink")
        #expect(try NSCodingUnarchiver.unarchivedObject(ofClass: Renamed.self, from: data) != nil)
        NSCodingUnarchiver.setClass(nil, forClassName: "OldLink")
        let isGone = NSCodingUnarchiver.class(forClassName: "OldLink") == nil
        #expect(isGone)
        #expect(throws: ArchiveError.self) {
            try NSCodingUnarchiver.unarchivedObject(ofClass: Renamed.self, from: data)
        }
    }

    @Test("A name without module finds the class that is named in the list")
    func shortNames() throws {
        let archiver = NSCodingArchiver()
        archiver.setClassName("Node", for: Node.self)
        archiver.encode(Node("from another language"), forKey: "root")
        let back = try NSCodingUnarchiver.unarchivedObject(ofClass: Node.self, from: try archiver.data())
        #expect(back?.name == "from another language")
    }

    @Test("Versions are written and asked for")
    func versionsInName() throws {
        let archiver = NSCodingArchiver()
        archiver.encode(Stand("x"), forKey: "root")
        archiver.encode(Node("x"), forKey: "node")
        #expect(archiver.version(forClassName: NSStringFromClass(Stand.self)) == 3)
        #expect(archiver.version(forClassName: "Unknown") == NSNotFound)
        let unarchiver = try NSCodingUnarchiver(forReadingFrom: try archiver.data())
        #expect(unarchiver.version(forClassName: NSStringFromClass(Stand.self)) == 3)
        #expect(unarchiver.version(forClassName: NSStringFromClass(Node.self)) == 0)
        #expect(unarchiver.version(forClassName: "Unknown") == NSNotFound)
    }

    /// Names classes that can replace it.
    final class Modern: NSObject, NSSecureCoding {
        static var supportsSecureCoding: Bool { true }
        override init() {}
        init?(coder: NSCoder) {}
        func encode(with coder: NSCoder) { coder.encode("x", forKey: "name") }
        override class func classFallbacksForKeyedArchiver() -> [String] {
            ["Nobody", "NSArray", NSStringFromClass(Node.self)]
        }
    }

    @Test("The hints of a class are written, and followed where it is unknown, if they are allowed")
    func hints() throws {
        let archiver = NSCodingArchiver()
        archiver.setClassName("Newer", for: Modern.self)
        archiver.encode(Modern(), forKey: "root")
        let data = try archiver.data()
        let hints = try ArchivedGraph(data).objects.compactMap { object -> [String]? in
            if case .classRecord(let type) = object { type.hints } else { nil }
        }
        #expect(hints == [["Nobody", "NSArray", NSStringFromClass(Node.self)]])

        // NSArray is known but not allowed; the next class is.
        let unarchiver = try NSCodingUnarchiver(forReadingFrom: data)
        #expect(unarchiver.decodeObject(of: Node.self, forKey: "root")?.name == "x")
        #expect(throws: ArchiveError.self) { try NSCodingUnarchiver.unarchivedObject(ofClass: Foo.self, from: data) }
        let list = try NSCodingUnarchiver(forReadingFrom: data)
        _ = list.decodeObject(of: NSString.self, forKey: "root")
        #expect((list.error as? ArchiveError)?.code == .classNotAllowed)

        // A class that is known by its own name is used.
        let known = try NSCodingUnarchiver(forReadingFrom: data)
        known.setClass(Modern.self, forClassName: "Newer")
        #expect(known.decodeObject(of: Modern.self, forKey: "root") != nil)
    }

    @Test("An archive as PyObjC writes it is read by its hints")
    func realHints() throws {
        let unarchiver = try NSCodingUnarchiver(
            forReadingFrom: Fixtures.real(named: "plaso__NSKeyedArchiver").data)
        let root = unarchiver.decodePropertyList(forKey: "root") as? NSDictionary
        #expect(unarchiver.error == nil && root?.count == 8)
        #expect(root?["MyString"] as? String == "Some string" && root?["MyData"] as? Data == Data("DATA\n".utf8))
    }

    /// Keyed unarchivers make another class for this one.
    final class Former: NSObject, NSSecureCoding {
        static var supportsSecureCoding: Bool { true }
        override init() {}
        init?(coder: NSCoder) {}
        func encode(with coder: NSCoder) { coder.encode("x", forKey: "name") }
        override class func classForKeyedUnarchiver() -> AnyClass { Node.self }
    }

    @Test("A class can have another one made in its place, where that is allowed")
    func unarchivedAsAnother() throws {
        let data = try NSCodingArchiver.archivedData(withRootObject: Former())
        let unarchiver = try NSCodingUnarchiver(forReadingFrom: data)
        let node = unarchiver.decodeObject(of: [Former.self, Node.self], forKey: "root") as? Node
        #expect(node?.name == "x")
        let narrow = try NSCodingUnarchiver(forReadingFrom: data)
        #expect(narrow.decodeObject(of: [Former.self], forKey: "root") == nil)
        #expect((narrow.error as? ArchiveError)?.code == .classNotAllowed)
    }

    final class Watcher: NSCodingArchiverDelegate, NSCodingUnarchiverDelegate {
        var events: [String] = []

        func archiver(_ archiver: NSCodingArchiver, willEncode object: Any) -> Any? {
            guard let node = object as? Node else { return object }
            events.append("will encode \(node.name)")
            if node.name == "secret" { return nil }
            return node.name == "old" ? Node("new") : node
        }
        func archiver(_ archiver: NSCodingArchiver, didEncode object: Any?) {
            if let node = object as? Node { events.append("did encode \(node.name)") }
        }
        func archiver(_ archiver: NSCodingArchiver, willReplace object: Any?, with newObject: Any?) {
            events.append("\((object as? Node)?.name ?? "nil") becomes \((newObject as? Node)?.name ?? "nil")")
        }
        func archiverWillFinish(_ archiver: NSCodingArchiver) { events.append("will finish") }
        func archiverDidFinish(_ archiver: NSCodingArchiver) { events.append("did finish") }

        func unarchiver(
            _ unarchiver: NSCodingUnarchiver, cannotDecodeObjectOfClassName name: String,
            originalClasses classNames: [String]
        ) -> AnyClass? {
            events.append("unknown \(name), \(classNames)")
            return Node.self
        }
        func unarchiver(_ unarchiver: NSCodingUnarchiver, didDecode object: Any?) -> Any? {
            guard let node = object as? Node else { return nil }
            events.append("did decode \(node.name)")
            return node.name == "new" ? Node("newest") : nil
        }
        func unarchiver(_ unarchiver: NSCodingUnarchiver, willReplace object: Any, with newObject: Any) {
            events.append("\((object as? Node)?.name ?? "") becomes \((newObject as? Node)?.name ?? "")")
        }
        func unarchiverWillFinish(_ unarchiver: NSCodingUnarchiver) { events.append("will finish") }
        func unarchiverDidFinish(_ unarchiver: NSCodingUnarchiver) { events.append("did finish") }
    }

    @Test("Delegates are notified of each object, and replace some")
    func delegatesInName() throws {
        let (writing, reading) = (Watcher(), Watcher())
        let archiver = NSCodingArchiver()
        archiver.delegate = writing
        archiver.setClassName("Lost", for: SpecialNode.self)
        archiver.encode(Node("old"), forKey: "a")
        archiver.encode(Node("secret"), forKey: "b")
        archiver.encode(SpecialNode("lost"), forKey: "c")
        let data = try archiver.data()
        #expect(
            writing.events == [
                "will encode old", "old becomes new", "did encode new", "will encode secret", "secret becomes nil",
                "will encode lost", "did encode lost", "will finish", "did finish",
            ])

        let unarchiver = try NSCodingUnarchiver(forReadingFrom: data)
        unarchiver.delegate = reading
        let first = unarchiver.decodeObject(of: Node.self, forKey: "a")
        #expect(first?.name == "newest")
        #expect(unarchiver.decodeObject(of: Node.self, forKey: "a") === first)
        #expect(unarchiver.decodeObject(of: Node.self, forKey: "b") == nil)
        #expect(unarchiver.decodeObject(of: Node.self, forKey: "c")?.name == "lost")
        unarchiver.finishDecoding()
        #expect(
            reading.events == [
                "did decode new", "new becomes newest", "unknown Lost, [\"FoundationCodingTests.Node\", \"NSObject\"]",
                "did decode lost", "will finish", "did finish",
            ])
        #expect(unarchiver.decodeObject(forKey: "a") == nil)
        #expect((unarchiver.error as? ArchiveError)?.code == .misuse)
    }
}
