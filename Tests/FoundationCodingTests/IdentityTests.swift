import Foundation
import FoundationCoding
import KeyedArchive
import Testing

@Suite("Identity")
struct IdentityTests {
    private func copy<T: NSObject & NSCoding>(_ object: T) throws -> T {
        let data = try NSCodingArchiver.archivedData(withRootObject: object)
        return try #require(try NSCodingUnarchiver.unarchivedObject(ofClass: T.self, from: data))
    }

    @Test("One object is one, equal but distinct ones stay distinct, elements of collections too")
    func sharingInIdentity() throws {
        let (one, other) = (NSMutableString(string: "same"), NSMutableString(string: "same"))
        let node = Node("n")
        let list = NSMutableArray()
        for object in [one, other, one, node, node] { list.add(object) }
        list.add(["k": one] as NSDictionary)
        let data = try NSCodingArchiver.archivedData(withRootObject: list)
        let back = try #require(
            try NSCodingUnarchiver.unarchivedObject(
                ofClasses: [NSArray.self, NSDictionary.self, NSString.self, Node.self], from: data) as? NSMutableArray)
        let elements = Mirror(reflecting: back).children.compactMap { $0.value as? NSObject }
        #expect(elements[0] === elements[2])
        #expect(elements[0] !== elements[1])
        #expect(elements[0] is NSMutableString)
        #expect(elements[3] === elements[4])
        let pair = Mirror(reflecting: elements[5]).children.first.flatMap {
            $0.value as? (key: NSObject, value: AnyObject)
        }
        #expect(pair?.value as? NSObject === elements[0])
    }

    @Test("Cycles round-trip where the class takes its reference once the object exists")
    func cyclesInIdentity() throws {
        let (first, second) = (Node("a"), Node("b"))
        first.next = second
        second.next = first
        let child = SpecialNode("child")
        child.extra = 5
        child.parent = first
        first.children.add(child)
        let back = try copy(first)
        #expect(back.next?.next === back)
        #expect(back.next?.name == "b")
        let newChild = try #require(back.children.firstObject as? SpecialNode)
        #expect(newChild.parent === back)
        #expect(newChild.extra == 5)
        (first.next, back.next) = (nil, nil)
    }

    @Test("A cycle through a class that does not support cycles is an error")
    func carelessCycle() throws {
        let link = Link(next: nil)
        link.next = Link(next: link)
        let data = try NSCodingArchiver.archivedData(withRootObject: link)
        let error = #expect(throws: ArchiveError.self) {
            try NSCodingUnarchiver.unarchivedObject(ofClass: Link.self, from: data)
        }
        #expect(error?.code == .cycle)
        #expect(error?.path == "root.next.next")
        link.next = nil
    }

    @Test("Collections may contain themselves")
    func selfContaining() throws {
        let array = NSMutableArray()
        let dictionary = NSMutableDictionary()
        array.add(array)
        array.add(dictionary)
        dictionary["list"] = array
        let data = try NSCodingArchiver.archivedData(withRootObject: array)
        let refused = #expect(throws: ArchiveError.self) {
            try NSCodingUnarchiver.unarchivedObject(
                ofClasses: [NSArray.self, NSDictionary.self, NSString.self], from: data)
        }
        #expect(refused?.code == .cycle)
        let unarchiver = try NSCodingUnarchiver(forReadingFrom: data)
        unarchiver.requiresSecureCoding = false
        let back = try #require(unarchiver.decodeObject(forKey: "root") as AnyObject as? NSMutableArray)
        let elements = Mirror(reflecting: back).children.compactMap { $0.value as? NSObject }
        #expect(elements[0] === back)
        let pair = Mirror(reflecting: elements[1]).children.first.flatMap {
            $0.value as? (key: NSObject, value: AnyObject)
        }
        #expect(pair?.value as? NSObject === back)
        for list in [array, back] { list.removeAllObjects() }
    }

    @Test("Plain values that contain themselves, or one another very deep, are errors")
    func plainCycles() throws {
        var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
        _ = try graph.add(.value(.list([.reference(1)])))
        _ = try graph.add(.value(.reference(2)))
        for index in 3..<20_000 { _ = try graph.add(.value(.list([.reference(index + 1)]))) }
        _ = try graph.add(.value(.integer(1)))
        graph.setRoot(.reference(1), forKey: "list")
        graph.setRoot(.reference(2), forKey: "reference")
        graph.setRoot(.reference(3), forKey: "deep")
        let data = Data(try graph.bytes(format: .binary))
        for (key, code) in [("list", ArchiveError.Code.cycle), ("reference", .cycle), ("deep", .limit)] {
            let unarchiver = try NSCodingUnarchiver(forReadingFrom: data)
            #expect(unarchiver.decodeObject(forKey: key) == nil)
            #expect((unarchiver.error as? ArchiveError)?.code == code, "\(key)")
        }
    }

    @Test("Objects that Foundation cannot hash are refused as keys")
    func badKeys() throws {
        var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
        func set(_ members: [ArchivedValue]) -> Int {
            graph.add(className: "NSSet", superclasses: ["NSObject"], fields: [("NS.objects", .list(members))])
        }
        let texts = try (0..<2).map { _ in ArchivedValue.reference(try graph.add(.value(.string("u")))) }
        let units = texts.map { ArchivedValue.reference(graph.add(className: "NSUnit", fields: [("NS.symbol", $0)])) }
        let error = graph.add(className: "NSError", fields: [("NSDomain", texts[0]), ("NSCode", .integer(1))])
        let numbers = [ArchivedValue.integer(.max), .double(bits: 0x1p63.bitPattern)]
        let members = try numbers.map { ArchivedValue.reference(try graph.add(.value($0))) }
        for (key, members) in [("units", units), ("error", [.reference(error)]), ("numbers", members)] {
            graph.setRoot(.reference(set(members)), forKey: key)
        }
        let data = Data(try graph.bytes(format: .binary))
        for key in ["units", "error"] {
            let unarchiver = try NSCodingUnarchiver(forReadingFrom: data)
            unarchiver.requiresSecureCoding = false
            #expect(unarchiver.decodeObject(forKey: key) == nil)
            #expect((unarchiver.error as? ArchiveError)?.code == .unsupported, "\(key)")
        }
        let unarchiver = try NSCodingUnarchiver(forReadingFrom: data)
        // The hashes depend on the platform; nothing may trap.
        _ = unarchiver.decodeObject(of: [NSSet.self, NSNumber.self], forKey: "numbers")
    }

    @Test("Equal keys that Foundation cannot compare are refused")
    func incomparableKeys() async throws {
        await #expect(processExitsWith: .success) {
            for type in ["NSSet", "NSDictionary"] {
                var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
                let keys = (0..<2).map { _ in
                    // A set of an array, or a dictionary with an array as its key.
                    let list = graph.add(className: "NSArray", fields: [("NS.objects", .list([.integer(1)]))])
                    let content = ArchivedValue.list([.reference(list)])
                    return ArchivedValue.reference(
                        graph.add(className: type, fields: [("NS.keys", content), ("NS.objects", content)]))
                }
                let set = graph.add(className: "NSSet", fields: [("NS.objects", .list(keys))])
                graph.setRoot(.reference(set), forKey: "root")
                let data = Data(try graph.bytes(format: .binary))
                let error = #expect(throws: ArchiveError.self) {
                    try NSCodingUnarchiver.unarchiveObject(with: data)
                }
                #expect(error?.code == .unsupported)
            }
        }
    }

    @Test("A conditional object is decoded if something else encodes it, before or after, and is nil otherwise")
    func conditionals() throws {
        let (kept, lost) = (Node("kept"), Node("lost"))
        let archiver = NSCodingArchiver()
        archiver.encodeConditionalObject(kept, forKey: "early")
        archiver.encodeConditionalObject(lost, forKey: "never")
        archiver.encode(kept, forKey: "object")
        archiver.encodeConditionalObject(kept, forKey: "late")
        let unarchiver = try NSCodingUnarchiver(forReadingFrom: try archiver.data())
        let object = unarchiver.decodeObject(of: Node.self, forKey: "object")
        #expect(object?.name == "kept")
        #expect(unarchiver.decodeObject(of: Node.self, forKey: "early") === object)
        #expect(unarchiver.decodeObject(of: Node.self, forKey: "late") === object)
        #expect(unarchiver.containsValue(forKey: "never"))
        #expect(unarchiver.decodeObject(of: Node.self, forKey: "never") == nil)
        #expect(unarchiver.error == nil)
    }

    @Test("A chain of 9,000 objects is archived and made; one beyond the limit is an error")
    func longChainInIdentity() throws {
        let chain = try #require(Link.chain(9_000))
        let data = try NSCodingArchiver.archivedData(withRootObject: chain)
        let back = try #require(try NSCodingUnarchiver.unarchivedObject(ofClass: Link.self, from: data))
        var count = 0
        var link: Link? = back
        while let next = link {
            count += 1
            link = next.next
        }
        #expect(count == 9_000)
        chain.unlink()
        back.unlink()
        let longer = try #require(Link.chain(10_500))
        let more = try NSCodingArchiver.archivedData(withRootObject: longer)
        longer.unlink()
        let error = #expect(throws: ArchiveError.self) {
            try NSCodingUnarchiver.unarchivedObject(ofClass: Link.self, from: more)
        }
        #expect(error?.code == .limit)
    }

    @Test("Replacement objects are used on both sides, and keep identity")
    func replacements() throws {
        let replaced = Stand("replace")
        let list = NSMutableArray()
        for object in [replaced, replaced, Stand("awake"), Stand("plain")] { list.add(object) }
        let data = try NSCodingArchiver.archivedData(withRootObject: list)
        let back = try #require(
            try NSCodingUnarchiver.unarchivedObject(ofClasses: [NSArray.self, Stand.self], from: data) as? NSArray)
        #expect((back[0] as? Stand)?.text == "replaced")
        #expect(back[0] as? NSObject === back[1] as? NSObject)
        #expect(back[2] as? String == "awoken")
        #expect((back[3] as? Stand)?.seenVersion == 3)
    }
}
