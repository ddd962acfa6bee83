import Foundation
import Testing

@testable import KeyedArchive

@Suite("Views of graphs that are read in place")
struct GraphViewTests {
    private func view<T: Codable>(of value: T) throws -> GraphView<T> {
        try KeyedUnarchiver.unarchive(GraphView<T>.self, from: try KeyedArchiver.archive(value))
    }

    /// An object that counts how often it is decoded.
    final class Counted: ObjectCoding {
        nonisolated(unsafe) static var decoded = 0
        var child: Counted?
        var number: Int
        init(_ number: Int, _ child: Counted? = nil) { (self.number, self.child) = (number, child) }
        init(coder: ObjectDecoder) throws {
            Self.decoded += 1
            number = try coder.decode(Int.self, forKey: "number")
            child = try coder.decode(Counted?.self, forKey: "child")
        }
        func encode(with coder: ObjectEncoder) throws {
            try coder.encode(number, forKey: "number")
            try coder.encode(child, forKey: "child")
        }
    }

    /// A class that is `Codable` without more, with coding keys.
    final class Plain: Codable {
        enum CodingKeys: String, CodingKey { case title, next, pair, nick = "$nick" }
        var title = "first"
        var next: Plain?
        var pair = [Foo("a", 1), Foo("b", 2)]
        var nick: String?
    }

    struct Pair: Codable {
        var left: Foo
        var right: Foo
        var middle: Foo?
        var place = Point(x: 3, y: -4)
    }

    @Test("Fields are read by key, and no object is made")
    func fieldsInGraphView() throws {
        let before = Counted.decoded
        let view = try view(of: Counted(-700, Counted(2)))
        #expect(try view["number"] == -700)
        let child = try view["child", as: GraphView<Counted>.self]
        #expect(try child["number", as: Int.self] == 2)
        #expect(try child["child", as: GraphView<Counted>?.self] == nil)
        #expect(Counted.decoded == before)
        #expect(try child.decoded().number == 2)
        #expect(Counted.decoded == before + 1)
        #expect(try view.archivedClassName == "Counted")
        #expect(try view.contains("child") && !view.contains("other"))
    }

    @Test("A list of objects is gone through in order, as often as one likes")
    func listsInGraphView() throws {
        let foos = (0..<1000).map { Foo("foo \($0)", $0 - 500) }
        let view = try view(of: Bar(foos))
        let list = try view["foos", as: GraphList<Foo>.self]
        for _ in 0..<2 {
            #expect(list.count == foos.count)
            #expect(try list.map { try $0["age", as: Int.self] } == foos.map(\.age))
            #expect(try list.map { try $0["name", as: String.self] } == foos.map(\.name))
        }
        #expect(try list.map { try $0.decoded().name } == foos.map(\.name))
        #expect(try self.view(of: Bar([]))["foos", as: GraphList<Foo>.self].isEmpty)
    }

    @Test("Fields of all types are read as the whole value has them")
    func everythingInGraphView() throws {
        let value = Everything()
        let view = try view(of: value)
        #expect(try view.decoded() == value)
        #expect(try view["bool"] == value.bool && view["int"] == value.int && view["int8"] == value.int8)
        #expect(try view["uint"] == value.uint && view["uint64"] == value.uint64 && view["int64"] == value.int64)
        #expect(try view["float"] == value.float && view["double"] == value.double)
        #expect(try view["string"] == value.string && view["long"] == value.long)
        #expect(try view["none", as: Int?.self] == nil && view["some", as: Int?.self] == 5)
        #expect(try view["data"] == value.data && view["bytes"] == value.bytes && view["date"] == value.date)
        #expect(try view["uuid"] == value.uuid && view["url"] == value.url && view["decimal"] == value.decimal)
        #expect(try view["names"] == value.names && view["set"] == value.set && view["nested"] == value.nested)
        #expect(try view["doubles"] == value.doubles && view["kind"] == value.kind && view["tree"] == value.tree)
        #expect(try view["points", as: GraphList<Point>.self].map { try $0["y", as: Int.self] } == [2, 4])
        #expect(try view["empty", as: GraphList<String>.self].isEmpty)
    }

    @Test("Shared references are equal views, others are not")
    func identityInGraphView() throws {
        let foo = Foo("f", 1)
        let view = try view(of: Pair(left: foo, right: foo, middle: Foo("f", 1)))
        let left = try view["left", as: GraphView<Foo>.self]
        #expect(try left == view["right"])
        #expect(try Set([left, view["right"], view["middle"]]).count == 2)
        #expect(try view["place", as: GraphView<Point>.self] == view["place"])
        // Objects are made anew by each call.
        #expect(try left.decoded() !== left.decoded())
        let both = try view.decoded()
        #expect(both.left === both.right && both.middle !== both.left)
    }

    @Test("Cycles are gone through as often as one likes")
    func cyclesInGraphView() throws {
        var node = try view(of: Node.list(3))
        for step in 0..<50 {
            #expect(try node["value", as: Int.self] == step % 2)
            node = try step % 2 == 0 ? node["next"] : node["previous"]
        }
    }

    @Test("Classes that are only Codable, coding keys, and keys that begin with a dollar")
    func codingKeys() throws {
        let plain = Plain()
        plain.next = Plain()
        plain.nick = "x"
        let view = try view(of: plain)
        #expect(try view[Plain.CodingKeys.title] == "first")
        #expect(try view[Plain.CodingKeys.nick, as: String?.self] == "x")
        let next = try view[Plain.CodingKeys.next, as: GraphView<Plain>.self]
        #expect(try next[Plain.CodingKeys.nick, as: String?.self] == nil)
        #expect(try next[Plain.CodingKeys.next, as: GraphView<Plain>?.self] == nil)
        #expect(try next[Plain.CodingKeys.pair, as: GraphList<Foo>.self].map { try $0["name"] } == ["a", "b"])
        #expect(try view.contains(Plain.CodingKeys.nick) && !next.contains(Plain.CodingKeys.nick))
    }

    @Test("Values with more keys than a shape holds, whose keys are inline")
    func manyKeysInGraphView() throws {
        let many = Dictionary(uniqueKeysWithValues: (0..<30).map { ("key \($0)", $0) })
        struct Many: Codable {
            var values: [String: Int]
            struct Key: CodingKey {
                var stringValue: String
                var intValue: Int? { nil }
                init(stringValue: String) { self.stringValue = stringValue }
                init?(intValue: Int) { nil }
            }
            init(_ values: [String: Int]) { self.values = values }
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Key.self)
                values = [:]
                for key in container.allKeys { values[key.stringValue] = try container.decode(Int.self, forKey: key) }
            }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Key.self)
                for (key, value) in values { try container.encode(value, forKey: Key(stringValue: key)) }
            }
        }
        // An encoder writes keys inline once a type has had many shapes.
        let lists = (0..<40).map { Many(["only \($0)": $0]) } + [Many(many)]
        let bytes = try KeyedArchiver.archive(lists)
        let shapes = try bytes.withUnsafeBytes { try CompactFile.parse($0, limits: ArchiveLimits()).shapes }
        #expect(shapes.contains { $0.layout == .explicit } && shapes.contains { $0.layout == .keyed })
        let views = try KeyedUnarchiver.unarchive([GraphView<Many>].self, from: bytes)
        for (view, value) in zip(views, lists) {
            for (key, number) in value.values { #expect(try view[key] == number) }
            #expect(throws: ArchiveError.self) { try view["other", as: Int.self] }
        }
    }

    @Test("Errors name the field")
    func errorsInGraphView() throws {
        func expect(_ code: ArchiveError.Code, _ path: String, _ body: () throws -> Void) {
            do {
                try body()
                Issue.record("nothing was thrown")
            } catch let error as ArchiveError {
                #expect(error.code == code && error.path == path, "\(error)")
            } catch {
                Issue.record("\(error)")
            }
        }
        let view = try view(of: Pair(left: Foo("l", 300), right: Foo("r", 2)))
        let left = try view["left", as: GraphView<Foo>.self]
        expect(.missingKey, "size") { _ = try left["size", as: Int.self] }
        expect(.missingKey, "size") { _ = try left["size", as: GraphView<Foo>.self] }
        expect(.typeMismatch, "name") { _ = try left["name", as: Int.self] }
        expect(.typeMismatch, "age") { _ = try left["age", as: String.self] }
        expect(.typeMismatch, "age") { _ = try left["age", as: Bool.self] }
        expect(.outOfRange, "age") { _ = try left["age", as: Int8.self] }
        expect(.typeMismatch, "age") { _ = try left["age", as: GraphView<Foo>.self] }
        expect(.typeMismatch, "age") { _ = try left["age", as: GraphList<Foo>.self] }
        expect(.classNotAllowed, "left") { _ = try view["left", as: GraphView<Bar>.self] }
        expect(.typeMismatch, "x") { _ = try view["left", as: GraphView<Point>.self]["x", as: Int.self] }
        expect(.typeMismatch, "place") { _ = try view["place", as: GraphView<Foo>.self] }
        expect(.typeMismatch, "name") { _ = try left["name", as: GraphView<String>.self]["name", as: Int.self] }
        expect(.classNotAllowed, "root") {
            _ = try KeyedUnarchiver.unarchive(GraphView<Bar>.self, from: KeyedArchiver.archive(Foo("f", 1)))
        }
    }

    @Test("Subclasses fit where they are listed, and are decoded as what they are")
    func subclassesInGraphView() throws {
        let figures: [Figure] = [Circle(x: 1, radius: 2), Square(x: 3)]
        let list = try KeyedUnarchiver.unarchive([GraphView<Figure>].self, from: KeyedArchiver.archive(figures))
        #expect(try list.map { try $0["x", as: Int.self] } == [1, 3])
        #expect(try list[0]["radius", as: Double.self] == 2)
        #expect(try list[0].decoded() is Circle)
        let bytes = try KeyedArchiver.archive(Hexagon(x: 4))
        #expect(throws: ArchiveError.self) { try KeyedUnarchiver.unarchive(GraphView<Figure>.self, from: bytes) }
        var classes = ClassRegistry(allowing: [Hexagon.self])
        let allowed = try KeyedUnarchiver.unarchive(GraphView<Figure>.self, from: bytes, classes: classes)
        #expect(try allowed["x"] == 4)
        classes.setClass(Foo.self, forName: "Hexagon")
        #expect(try KeyedUnarchiver.unarchive(GraphView<Foo>.self, from: bytes, classes: classes)["x"] == 4)
    }

    @Test("A view of a value is written as the value, and one that was read, too")
    func encoding() throws {
        let bytes = try KeyedArchiver.archive(Bar([Foo("a", 1), Foo("b", 2)]))
        #expect(try KeyedArchiver.archive(GraphView(Bar([Foo("a", 1), Foo("b", 2)]))) == bytes)
        let view = try KeyedUnarchiver.unarchive(GraphView<Bar>.self, from: bytes)
        #expect(try KeyedArchiver.archive(view) == bytes)
        let json = try JSONEncoder().encode(GraphView(Point(x: 1, y: 2)))
        #expect(try JSONDecoder().decode(Point.self, from: json) == Point(x: 1, y: 2))
        #expect(try JSONDecoder().decode(GraphView<Point>.self, from: json)["y"] == 2)
        #expect(
            try KeyedUnarchiver.unarchive(
                [GraphView<Point>?].self, from: KeyedArchiver.archive([Point(x: 1, y: 2), nil])
            ).map { try $0?["x", as: Int.self] } == [1, nil])
    }

    @Test("A view of a value of this process is read like one that was received")
    func localInGraphView() throws {
        let foo = GraphView(Foo("f", 1))
        #expect(try foo["name"] == "f" && foo["age"] == 1)
        #expect(foo == foo && foo != GraphView(Foo("f", 1)))
        let bar = GraphView(Bar([Foo("a", 1), Foo("b", 2)]))
        #expect(try bar["foos", as: GraphList<Foo>.self].map { try $0["age", as: Int.self] } == [1, 2])
        #expect(try bar.decoded().foos.map(\.name) == ["a", "b"])
        #expect(try GraphView(7).decoded() == 7)
        #expect(try GraphView(["a": [Point(x: 1, y: 2)]]).decoded() == ["a": [Point(x: 1, y: 2)]])
    }

    @Test("Views within values are views of the same graph")
    func insideInGraphView() throws {
        struct Mixed: Codable {
            var foo: GraphView<Foo>
            var again: GraphView<Foo>
            var point: GraphView<Point>
            var foos: [GraphView<Foo>]
            var number: GraphView<Int>
        }
        let foo = Foo("f", 1)
        struct Sent: Codable {
            var foo: Foo
            var again: Foo
            var point = Point(x: 5, y: 6)
            var foos: [Foo]
            var number = 300
        }
        let bytes = try KeyedArchiver.archive(Sent(foo: foo, again: foo, foos: [foo, Foo("g", 2)]))
        let mixed = try KeyedUnarchiver.unarchive(Mixed.self, from: bytes)
        #expect(mixed.foo == mixed.again && mixed.foo == mixed.foos[0] && mixed.foo != mixed.foos[1])
        #expect(try mixed.point["x"] == 5 && mixed.foos[1]["name"] == "g" && mixed.number.decoded() == 300)
        let view = try KeyedUnarchiver.unarchive(GraphView<Mixed>.self, from: bytes)
        #expect(try view["point", as: GraphView<Point>.self]["y"] == 6)
        #expect(try view.decoded().foos[1]["age"] == 2)
        #expect(try view["foo", as: GraphView<Foo>.self] == view.decoded().foo)
    }

    @Test("Lists of classes, and archives of Apple's layout, refuse views")
    func refusedInGraphView() throws {
        final class Holder: ObjectCoding {
            init() {}
            init(coder: ObjectDecoder) throws {
                _ = try coder.decode(GraphView<Foo>.self, forKey: "foo", allowing: [Foo.self])
            }
            func encode(with coder: ObjectEncoder) throws { try coder.encode(Foo("f", 1), forKey: "foo") }
        }
        let bytes = try KeyedArchiver.archive(Holder())
        #expect(throws: ArchiveError.self) { try KeyedUnarchiver.unarchive(Holder.self, from: bytes) }
        let binary = try KeyedArchiver.archive(Foo("f", 1), format: .binary)
        #expect(throws: ArchiveError.self) { try KeyedUnarchiver.unarchive(GraphView<Foo>.self, from: binary) }
    }
}
