import Testing

@testable import KeyedArchive

@Suite("Classes, names and versions")
struct ClassTests {
    @Test("Subclasses in a collection keep their class")
    func subclassesInClass() throws {
        let figures: [Figure] = [Figure(x: 1), Circle(x: 2, radius: 2.5), Square(x: 3)]
        let copy = try roundTrip(figures)
        #expect(type(of: copy[0]) == Figure.self)
        #expect((copy[1] as? Circle)?.radius == 2.5)
        #expect(copy[2] is Square)
        #expect(copy.map(\.x) == [1, 2, 3])
    }

    @Test("An unnamed subclass is an error until it is registered")
    func unlisted() throws {
        let bytes = try KeyedArchiver.archive([Figure(x: 1), Hexagon(x: 2)])
        let error = #expect(throws: ArchiveError.self) { try KeyedUnarchiver.unarchive([Figure].self, from: bytes) }
        #expect(error?.code == .classNotAllowed)
        #expect(error?.path == "root[1]")
        #expect(error?.message.contains("Hexagon") == true)
        let classes = ClassRegistry(allowing: [Hexagon.self])
        #expect(try KeyedUnarchiver.unarchive([Figure].self, from: bytes, classes: classes)[1] is Hexagon)
    }

    @Test("A registered class does not fit where it is not a subclass")
    func unrelated() throws {
        let bytes = try KeyedArchiver.archive(Foo("x", 1))
        let classes = ClassRegistry(allowing: [Foo.self])
        let error = #expect(throws: ArchiveError.self) {
            try KeyedUnarchiver.unarchive(Figure.self, from: bytes, classes: classes)
        }
        #expect(error?.code == .classNotAllowed)
    }

    @Test("An object decoded once does not fit another type the second time")
    func confusionInClass() throws {
        let archiver = KeyedArchiver()
        let foo = Foo("x", 1)
        try archiver.encode(foo, forKey: "a")
        try archiver.encode(foo, forKey: "b")
        let unarchiver = try KeyedUnarchiver(archiver.finish())
        _ = try unarchiver.decode(Foo.self, forKey: "a")
        let error = #expect(throws: ArchiveError.self) { try unarchiver.decode(Bar.self, forKey: "b") }
        #expect(error?.description == "b: expected Bar, found an object of class Foo")
    }

    @Test("Names are mapped both ways, and a former name is read as the class it became")
    func namesInClass() throws {
        var writing = ClassRegistry()
        writing.setName("XFoo", for: Foo.self)
        let bytes = try KeyedArchiver.archive(Foo("x", 1), classes: writing)
        let error = #expect(throws: ArchiveError.self) { try KeyedUnarchiver.unarchive(Foo.self, from: bytes) }
        #expect(error?.message.contains("XFoo") == true)
        var reading = ClassRegistry()
        reading.setClass(Foo.self, forName: "XFoo")
        #expect(try KeyedUnarchiver.unarchive(Foo.self, from: bytes, classes: reading).name == "x")
        #expect(try KeyedUnarchiver.unarchive(Foo.self, from: bytes, classes: writing).age == 1)
    }

    @Test("A reader of version 1 opens version 2, and the reverse")
    func versionsInClass() throws {
        final class Old: ObjectCoding {
            var name: String
            init(_ name: String) { self.name = name }
            init(coder: ObjectDecoder) throws { name = try coder.decode(String.self, forKey: "name") }
            func encode(with coder: ObjectEncoder) throws { try coder.encode(name, forKey: "name") }
            static let className = "Person"
            static let classVersion = 1
        }
        final class New: ObjectCoding {
            var first: String
            var last: String
            var tags: [String]
            init(_ first: String, _ last: String) {
                self.first = first
                self.last = last
                tags = ["a"]
            }
            init(coder: ObjectDecoder) throws {
                let name = try coder.decode(String.self, forKey: "name")
                first = String(name.split(separator: " ")[0])
                if coder.classVersion < 2 {
                    last = String(name.split(separator: " ")[1])
                    tags = []
                } else {
                    tags = try coder.decode([String].self, forKey: "tags")
                    last = try coder.decode(String.self, forKey: "last")
                }
            }
            func encode(with coder: ObjectEncoder) throws {
                try coder.encode(last, forKey: "last")
                try coder.encode(tags, forKey: "tags")
                try coder.encode("\(first) \(last)", forKey: "name")
            }
            static let className = "Person"
            static let classVersion = 2
        }
        let old = try KeyedUnarchiver.unarchive(
            [Old].self, from: KeyedArchiver.archive([New("Ann", "Lee"), New("B", "C")]))
        #expect(old.map(\.name) == ["Ann Lee", "B C"])
        let new = try KeyedUnarchiver.unarchive([New].self, from: KeyedArchiver.archive([Old("Ann Lee")]))
        #expect(new[0].last == "Lee" && new[0].tags == [])
    }

    final class Money: ObjectCoding {
        var cents: Int
        init(_ cents: Int) { self.cents = cents }
        init(coder: ObjectDecoder) throws { throw CancellationError() }
        func encode(with coder: ObjectEncoder) throws { throw CancellationError() }
        func replacementObject(for coder: ObjectEncoder) throws -> (any ObjectCoding)? { Frozen("\(cents)") }
        static var codingSubclasses: [any ObjectCoding.Type] { [Frozen.self] }
    }

    final class Frozen: ObjectCoding {
        var text: String
        init(_ text: String) { self.text = text }
        init(coder: ObjectDecoder) throws { text = try coder.decode(String.self, forKey: "text") }
        func encode(with coder: ObjectEncoder) throws { try coder.encode(text, forKey: "text") }
        func awakeAfter(using coder: ObjectDecoder) throws -> (any ObjectCoding)? { Money(Int(text) ?? 0) }
    }

    @Test("An object replaced on encoding and again after decoding keeps its identity")
    func replacement() throws {
        let money = Money(250)
        let copy = try roundTrip([money, Money(3), money])
        #expect(copy.map(\.cents) == [250, 3, 250])
        #expect(copy[0] === copy[2])
        #expect(copy[0] !== copy[1])
    }

    /// Reads an object whose replacement does not fit, and goes on.
    final class Patient: ObjectCoding {
        var numbers: [Int] = []
        var failure: ArchiveError.Code?
        var money: Money?

        init() {}
        init(coder: ObjectDecoder) throws {
            numbers.append(try coder.decode(Int.self, forKey: "last"))
            do { _ = try coder.decode(Frozen.self, forKey: "frozen") } catch let error as ArchiveError {
                failure = error.code
            }
            for key in ["first", "second", "last"] { numbers.append(try coder.decode(Int.self, forKey: key)) }
            money = try coder.decode(Money.self, forKey: "again")
        }
        func encode(with coder: ObjectEncoder) throws {
            let frozen = Frozen("250")
            try coder.encode(1, forKey: "first")
            try coder.encode(2, forKey: "second")
            try coder.encode(frozen, forKey: "frozen")
            try coder.encode(frozen, forKey: "again")
            try coder.encode(3, forKey: "last")
        }
    }

    @Test("After a replacement that does not fit, the object around it reads on, and others may use the replacement")
    func unfitReplacement() throws {
        for copy in try roundTrip([Patient(), Patient()]) {
            #expect(copy.failure == .classNotAllowed)
            #expect(copy.numbers == [3, 1, 2, 3])
            #expect(copy.money?.cents == 250)
        }
    }

    @Test("A conditional reference to a replaced object is its replacement")
    func conditionalReplacement() throws {
        let money = Money(1)
        let archiver = KeyedArchiver()
        try archiver.encodeConditional(money, forKey: "maybe")
        try archiver.encode(money, forKey: "sure")
        let unarchiver = try KeyedUnarchiver(archiver.finish())
        let sure = try unarchiver.decode(Money.self, forKey: "sure")
        #expect(try unarchiver.decodeIfPresent(Money.self, forKey: "maybe") === sure)
    }

    final class Recorder: KeyedArchiverDelegate, KeyedUnarchiverDelegate {
        var log: [String] = []
        func archiver(willEncode object: any ObjectCoding) -> (any ObjectCoding)? {
            log.append("will")
            return (object as? Foo)?.name == "secret" ? Foo("public", 0) : object
        }
        func archiver(didEncode object: any ObjectCoding) { log.append("did \((object as? Foo)?.name ?? "")") }
        func archiver(willReplace object: any ObjectCoding, with replacement: any ObjectCoding) {
            log.append("replace")
        }
        func unarchiver(didDecode object: any ObjectCoding) -> any ObjectCoding {
            log.append("decoded")
            return (object as? Foo)?.name == "public" ? Foo("found", 1) : object
        }
        func unarchiver(cannotDecodeClassNamed name: String) -> (any ObjectCoding.Type)? {
            log.append("cannot \(name)")
            return Foo.self
        }
        func unarchiver(didReplace object: any ObjectCoding, with replacement: any ObjectCoding) {
            log.append("replaced")
        }
    }

    @Test("The delegates see each object once, and may replace it or name its class")
    func delegatesInClass() throws {
        let recorder = Recorder()
        var names = ClassRegistry()
        names.setName("Unheard", for: Foo.self)
        let archiver = KeyedArchiver(classes: names)
        archiver.delegate = recorder
        let foo = Foo("secret", 1)
        try archiver.encode([foo, foo, Foo("open", 2)], forKey: "list")
        let bytes = try archiver.finish()
        #expect(recorder.log == ["will", "replace", "will", "did public", "did open"])
        recorder.log = []
        let unarchiver = try KeyedUnarchiver(bytes)
        unarchiver.delegate = recorder
        let foos = try unarchiver.decode([Foo].self, forKey: "list")
        #expect(foos.map(\.name) == ["found", "found", "open"])
        #expect(foos[0] === foos[1])
        #expect(recorder.log == ["cannot Unheard", "decoded", "replaced", "decoded"])
    }
}
