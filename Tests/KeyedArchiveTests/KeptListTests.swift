import Testing

@testable import KeyedArchive

/// While an archive is read, a list keeps its objects alive for later references to them.
@Suite("Objects of lists that their readers let go")
struct KeptListTests {
    @Test("Objects of a list that was dropped are still there when they are referred to again")
    func droppedInKeptList() throws {
        let foos = (0..<20).map { Foo("foo \($0)", $0) }
        let archiver = KeyedArchiver()
        try archiver.encode(foos, forKey: "list")
        try archiver.encode(Array(foos.reversed()), forKey: "again")
        try archiver.encode(foos[3], forKey: "one")
        let unarchiver = try KeyedUnarchiver(archiver.finish())
        weak var third: Foo?
        do {
            let list = try unarchiver.decode([Foo].self, forKey: "list")
            third = list[3]
        }
        let again = try unarchiver.decode([Foo].self, forKey: "again")
        #expect(again.map(\.age) == (0..<20).reversed())
        #expect(again[16] === third)
        #expect(try unarchiver.decode(Foo.self, forKey: "one") === third)
    }

    @Test("Objects before the one that failed are still there when they are referred to again")
    func failedInKeptList() throws {
        let foos: [Foo] = (0..<20).map { Foo("foo \($0)", $0) }
        let figures: [Figure] = (0..<12).map { Figure(x: $0) } + [Hexagon(x: 12)]
        let archiver = KeyedArchiver()
        try archiver.encode(figures, forKey: "figures")
        try archiver.encode(figures[7], forKey: "one")
        try archiver.encode(foos, forKey: "foos")
        let unarchiver = try KeyedUnarchiver(archiver.finish())
        let error = #expect(throws: ArchiveError.self) { try unarchiver.decode([Figure].self, forKey: "figures") }
        #expect(error?.path == "figures[12]")
        #expect(try unarchiver.decode([Foo].self, forKey: "foos").count == 20)
        #expect(try unarchiver.decode(Figure.self, forKey: "one").x == 7)
    }

    @Test("All objects are released with the archive that was read, and none before")
    func released() throws {
        weak var first: Foo?
        do {
            let foos = (0..<20).map { Foo("foo \($0)", $0) }
            let archiver = KeyedArchiver()
            try archiver.encode(foos + foos, forKey: "list")
            let unarchiver = try KeyedUnarchiver(archiver.finish())
            do {
                let list = try unarchiver.decode([Foo].self, forKey: "list")
                first = list[0]
            }
            #expect(first != nil)
            withExtendedLifetime(unarchiver) {}
        }
        #expect(first == nil)
    }

    @Test("A list whose array is a temporary is written whole, and its objects are released afterwards")
    func temporary() throws {
        weak var first: Foo?
        let archiver = KeyedArchiver()
        do {
            let foos = (0..<20).map { Foo("foo \($0)", $0) }
            first = foos[0]
            try archiver.encode(foos, forKey: "list")
        }
        #expect(first != nil)
        let bytes: [UInt8] = try archiver.finish()
        let list = try KeyedUnarchiver(bytes).decode([Foo].self, forKey: "list")
        #expect(list.map(\.age) == Array(0..<20))
    }
}
