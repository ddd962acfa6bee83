import Foundation
import FoundationCoding
import KeyedArchive
import Testing

/// Decodes a list and names the classes of its elements.
final class Box: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }
    nonisolated(unsafe) static var allowed: [AnyClass] = []
    let content: Any?

    init(_ content: Any?) { self.content = content }

    init?(coder: NSCoder) { content = coder.decodeObject(of: Self.allowed, forKey: "content") }

    func encode(with coder: NSCoder) { coder.encode(content, forKey: "content") }
}

@Suite("Allow-lists", .serialized)
struct AllowListTests {
    private func error(_ root: Any, _ classes: [AnyClass], inside: [AnyClass] = []) throws -> ArchiveError.Code? {
        Box.allowed = inside
        let data = try NSCodingArchiver.archivedData(withRootObject: root)
        do {
            _ = try NSCodingUnarchiver.unarchivedObject(ofClasses: classes, from: data)
            return nil
        } catch let error as ArchiveError {
            return error.code
        }
    }

    @Test("A class is made if it or a superclass is named, where it is named")
    func namedInAllowList() throws {
        #expect(try error(Node("n"), [Node.self]) == nil)
        #expect(try error(Node("n"), [SpecialNode.self]) == .classNotAllowed)
        #expect(try error(SpecialNode("n"), [SpecialNode.self]) == nil)
        #expect(try error(SpecialNode("n"), [Node.self]) == nil, "the class lists it")
        #expect(try error(HiddenNode("n"), [Node.self]) == .classNotAllowed, "nobody names it")
        #expect(try error([Node("n")], [NSArray.self, Node.self]) == nil)
        #expect(try error([Node("n")], [NSArray.self]) == .classNotAllowed)
        #expect(try error([Node("n")], [Node.self]) == .classNotAllowed)
        #expect(try error([NSMutableArray()], [NSArray.self]) == nil)
        #expect(try error([NSDate()], [NSArray.self]) == .classNotAllowed)
    }

    @Test("A narrower list inside a wider one applies")
    func narrower() throws {
        let wide: [AnyClass] = [Box.self, NSArray.self, NSString.self, Node.self]
        #expect(try error(Box(Node("n")), wide, inside: [Node.self]) == nil)
        #expect(try error(Box(Node("n")), wide, inside: [NSString.self]) == .classNotAllowed)
        #expect(try error(Box([Node("n")]), wide, inside: [NSArray.self]) == .classNotAllowed)
        // After the inner list, the outer one applies again.
        #expect(try error([Box("x"), Node("n")], wide, inside: [NSString.self]) == nil)
    }

    @Test("An object made under a wider list does not pass a narrower one, nor inside a collection")
    func sharedObject() throws {
        let node = Node("n")
        let list = [node] as NSArray
        let wide: [AnyClass] = [Box.self, NSArray.self, NSString.self, Node.self]
        #expect(try error([node, Box(node)], wide, inside: [NSString.self]) == .classNotAllowed)
        #expect(try error([list, Box(list)], wide, inside: [NSArray.self]) == .classNotAllowed)
        #expect(try error([list, Box(list)], wide, inside: [NSArray.self, Node.self]) == nil)
    }

    @Test("A class without secure coding is not made under a secure coder")
    func insecure() throws {
        #expect(try error(Foo(name: "", age: 1), [Foo.self]) == .classNotAllowed)
    }

    @Test("No class is looked up by a name from the archive, except on request")
    func noLookup() throws {
        let data = try NSCodingArchiver.archivedData(withRootObject: Node("n"))
        let unarchiver = try NSCodingUnarchiver(forReadingFrom: data)
        #expect(unarchiver.decodeObject(forKey: "root") == nil)
        #expect((unarchiver.error as? ArchiveError)?.code == .classNotAllowed)
        #expect((try NSCodingUnarchiver.unarchiveObject(with: data) as? Node)?.name == "n")
        for name in [
            "NSTask", "NSThread", "Foundation.Process", "Swift.Array", "a.b.c", "$s.Foo", "", ".", "9.9", "A.É",
        ] {
            var graph = try ArchivedGraph(data)
            guard case .classRecord(var type) = graph.objects[2] else { continue }
            type.name = name
            try graph.replace(2, with: .classRecord(type))
            #expect(throws: ArchiveError.self) {
                try NSCodingUnarchiver.unarchiveObject(with: Data(try graph.bytes(format: .binary)))
            }
        }
    }

    @Test("Dictionaries and arrays of classes")
    func typedCollections() throws {
        let data = try NSCodingArchiver.archivedData(withRootObject: [Node("a"), Node("b")])
        #expect(
            try NSCodingUnarchiver.unarchivedArrayOfObjects(ofClass: Node.self, from: data)?.map(\.name) == ["a", "b"])
        #expect(throws: ArchiveError.self) {
            try NSCodingUnarchiver.unarchivedArrayOfObjects(ofClass: NSString.self, from: data)
        }
        let map = try NSCodingArchiver.archivedData(withRootObject: ["x": Node("a")])
        let back = try NSCodingUnarchiver.unarchivedDictionary(
            withKeysOfClass: NSString.self, objectsOfClass: Node.self, from: map)
        #expect(back?["x"]?.name == "a")
        let mixed = try NSCodingArchiver.archivedData(withRootObject: ["a", ["b"]] as NSArray)
        #expect(throws: ArchiveError.self) {
            try NSCodingUnarchiver.unarchivedArrayOfObjects(ofClass: NSString.self, from: mixed)
        }
    }
}
