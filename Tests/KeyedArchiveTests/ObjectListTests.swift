import KeyedArchive
import Testing

/// A branch whose list holds branches of its own class, with a key behind the list.
private class Branch: ObjectCoding {
    let name: String
    let children: [Branch]
    let last: Int

    init(_ name: String, _ children: [Branch] = []) {
        self.name = name
        self.children = children
        last = children.count
    }

    required init(coder: ObjectDecoder) throws {
        name = try coder.decode(String.self, forKey: "name")
        children = try coder.decode([Branch].self, forKey: "children")
        last = try coder.decode(Int.self, forKey: "last")
    }

    func encode(with coder: ObjectEncoder) throws {
        try coder.encode(name, forKey: "name")
        try coder.encode(children, forKey: "children")
        try coder.encode(last, forKey: "last")
    }

    class var codingSubclasses: [any ObjectCoding.Type] { [LateBranch.self, Fussy.self] }

    var names: [String] { [name] + children.flatMap(\.names) }
}

/// Reads its keys in another order than they were written.
private final class LateBranch: Branch {
    let note: String

    init(_ name: String, _ children: [Branch] = [], note: String) {
        self.note = note
        super.init(name, children)
    }

    required init(coder: ObjectDecoder) throws {
        note = try coder.decode(String.self, forKey: "note")
        try super.init(coder: coder)
    }

    override func encode(with coder: ObjectEncoder) throws {
        try super.encode(with: coder)
        try coder.encode(note, forKey: "note")
    }
}

/// Refuses to be decoded.
private final class Fussy: Branch {
    struct Refusal: Error {}

    required init(coder: ObjectDecoder) throws {
        try super.init(coder: coder)
        throw Refusal()
    }

    override init(_ name: String, _ children: [Branch] = []) { super.init(name, children) }
}

/// Reads what it can of a list.
private final class Survivor: ObjectCoding {
    let branches: [Branch]?
    let rest: Int

    init(_ branches: [Branch]) {
        self.branches = branches
        rest = 7
    }

    init(coder: borrowing ObjectDecoder) throws {
        branches = try? coder.decode([Branch].self, forKey: "branches")
        rest = try coder.decode(Int.self, forKey: "rest")
    }

    func encode(with coder: ObjectEncoder) throws {
        try coder.encode(branches ?? [], forKey: "branches")
        try coder.encode(rest, forKey: "rest")
    }
}

@Suite("Lists of objects")
struct ObjectListTests {
    /// Fewer and more elements than make a list keep its objects.
    private static let counts = [0, 1, 3, 20]

    private func copy<T: ObjectCoding>(_ object: T) throws -> T { try KeyedArchiver.deepCopy(of: object) }

    @Test(
        "Lists of the class that holds them are read at any depth, and so are the keys behind them", arguments: counts)
    func ownClassInObjectList(count: Int) throws {
        let tree = Branch("root", (0..<count).map { Branch("\($0)", (0..<count).map { Branch("leaf \($0)") }) })
        let copy = try copy(tree)
        #expect(copy.names == tree.names)
        #expect(copy.last == count)
        #expect(copy.children.allSatisfy { $0.last == count })
    }

    @Test("Elements of several classes, of which some read their keys in another order", arguments: counts)
    func severalClasses(count: Int) throws {
        let branches: [Branch] = (0..<count).map {
            $0 % 3 == 1 ? LateBranch("\($0)", [Branch("below")], note: "late") : Branch("\($0)")
        }
        let tree = Branch("root", branches)
        let copy = try copy(tree)
        #expect(copy.names == tree.names)
        #expect(copy.children.count { ($0 as? LateBranch)?.note == "late" } == branches.count { $0 is LateBranch })
    }

    @Test("Elements that occur twice are one object", arguments: counts)
    func twiceInObjectList(count: Int) throws {
        let branches = (0..<count).map { Branch("\($0)") }
        let copy = try copy(Branch("root", branches + [Branch("between", branches)] + branches.reversed()))
        #expect(copy.children.count == 2 * count + 1)
        for index in 0..<count {
            #expect(copy.children[index] === copy.children[2 * count - index])
            #expect(copy.children[index] === copy.children[count].children[index])
        }
    }

    @Test("After an element that fails, the keys behind the list can be read", arguments: counts)
    func failureInObjectList(count: Int) throws {
        let branches = (0..<count).map { Branch("\($0)", [Branch("below")]) }
        let copy = try copy(Survivor(branches + [Fussy("fussy", [Branch("below")])] + branches))
        #expect(copy.branches == nil)
        #expect(copy.rest == 7)
    }

    @Test("A chain of lists that is too long is refused")
    func tooLongInObjectList() throws {
        var limits = ArchiveLimits()
        limits.chain = 40
        var branch = Branch("last")
        for number in 0..<60 { branch = Branch("\(number)", [branch, Branch("other")]) }
        let archive = try KeyedArchiver.archive(branch)
        let error = #expect(throws: ArchiveError.self) {
            try KeyedUnarchiver.unarchive(Branch.self, from: archive, limits: limits)
        }
        #expect(error?.code == .limit)
        limits.chain = 60
        #expect(try KeyedUnarchiver.unarchive(Branch.self, from: archive, limits: limits).names == branch.names)
    }
}
