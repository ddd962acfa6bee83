import Testing

@testable import KeyedArchive

@Suite("Lists of allowed classes")
struct AllowListTests {
    /// Decodes its content with its own list of classes.
    final class Box: ObjectCoding {
        enum Mode { case none, narrow, wide }
        nonisolated(unsafe) static var mode = Mode.none
        var content: Figure
        init(_ content: Figure) { self.content = content }
        init(coder: ObjectDecoder) throws {
            switch Self.mode {
            case .none: content = try coder.decode(Figure.self, forKey: "content")
            case .narrow: content = try coder.decode(Figure.self, forKey: "content", allowing: [Square.self])
            case .wide: content = try coder.decode(Figure.self, forKey: "content", allowing: [Hexagon.self])
            }
        }
        func encode(with coder: ObjectEncoder) throws { try coder.encode(content, forKey: "content") }
    }

    private func decode(
        _ content: Figure, _ mode: Box.Mode, _ list: [any (AnyObject & Decodable).Type]
    ) throws -> Figure {
        let unarchiver = try KeyedUnarchiver(KeyedArchiver.archive(Box(content)))
        Box.mode = mode
        return try unarchiver.decode(Box.self, forKey: "root", allowing: list).content
    }

    @Test("A list for a key applies to everything below it; wider lists throw, narrower ones apply")
    func listsInAllowList() throws {
        #expect(try decode(Circle(x: 1, radius: 1), .none, [Figure.self, Circle.self]) is Circle)
        var error = #expect(throws: ArchiveError.self) {
            try decode(Circle(x: 1, radius: 1), .none, [Figure.self, Square.self])
        }
        #expect(error?.code == .classNotAllowed)
        #expect(error?.path == "root.content")

        #expect(try decode(Square(x: 1), .narrow, [Figure.self, Circle.self, Square.self]) is Square)
        error = #expect(throws: ArchiveError.self) {
            try decode(Circle(x: 1, radius: 1), .narrow, [Figure.self, Circle.self, Square.self])
        }
        #expect(error?.code == .classNotAllowed)

        error = #expect(throws: ArchiveError.self) {
            try decode(Square(x: 1), .wide, [Figure.self, Square.self])
        }
        #expect(error?.code == .classNotAllowed)
        #expect(error?.message.contains("Hexagon") == true)
        #expect(try decode(Hexagon(x: 4), .wide, [Figure.self, Hexagon.self]).x == 4)
    }

    @Test("An object of unknown type is decoded with a list, if its class is in it")
    func anyObject() throws {
        let archiver = KeyedArchiver()
        try archiver.encodeObject(Foo("x", 1), forKey: "a")
        try archiver.encodeObject(nil, forKey: "b")
        let unarchiver = try KeyedUnarchiver(archiver.finish())
        #expect(throws: ArchiveError.self) { try unarchiver.decodeObject(forKey: "a", allowing: [Bar.self]) }
        let foo = try unarchiver.decodeObject(forKey: "a", allowing: [Bar.self, Foo.self])
        #expect((foo as? Foo)?.name == "x")
        #expect(try unarchiver.decodeObject(forKey: "b", allowing: [Foo.self]) == nil)
    }

    @Test("An object made outside a list does not pass the list later")
    func sharedAcross() throws {
        let archiver = KeyedArchiver()
        let circle: Figure = Circle(x: 1, radius: 1)
        try archiver.encode(circle, forKey: "a")
        try archiver.encode(circle, forKey: "b")
        let unarchiver = try KeyedUnarchiver(archiver.finish())
        _ = try unarchiver.decode(Figure.self, forKey: "a")
        let error = #expect(throws: ArchiveError.self) {
            try unarchiver.decode(Figure.self, forKey: "b", allowing: [Square.self])
        }
        #expect(error?.code == .classNotAllowed)
    }
}
