import DistantObjects
import ExampleConsole
import FooBar

/// The steps that the client shows.
///
/// Each step checks its result.
struct Tour {
    let directory: Remote<DirectoryInterface>
    let waitsAtSteps: Bool

    /// A step had a wrong result.
    struct Surprise: Error, CustomStringConvertible {
        let description: String
    }

    func run() async throws {
        try await step("A Bar goes over by copy; the copy is changed there, and the Bar here is not.", copy)
        try await step("A graph keeps its shape: somebody in two teams, and teams that know each other.", graph)
        try await step("The server's directory stays where it is, and is called from here.", reference)
        try await step("An object of ours goes over by reference, and the server calls it.", callback)
        try await step("An error thrown there arrives here, with its type.", error)
        try await step("One-way messages: no answer is waited for, and their order is kept.", oneWay)
    }

    private func step(_ title: String, _ body: () async throws -> Void) async throws {
        // At the end of the input it continues without Enter.
        if waitsAtSteps { _ = readLine() }
        Console.say("\n\(title)")
        try await body()
    }

    private func show(_ what: String, _ value: some Any) {
        Console.say("   " + what + String(repeating: " ", count: max(1, 34 - what.count)) + "\(value)")
    }

    private func expect(_ condition: Bool, _ sentence: @autoclosure () -> String) throws {
        if !condition { throw Surprise(description: sentence()) }
    }

    // MARK: Steps

    private func copy() async throws {
        let bar = Bar()
        show("the Bar here", bar)
        let older = try await directory.celebrate(bar)
        show("what came back", older)
        show("the Bar here now", bar)
        try expect(older.foos.map(\.age) == [8, 4], "nobody's age was changed on the other side: \(older)")
        try expect(bar.foos.map(\.age) == [7, 3], "the Bar on this side was changed: \(bar)")
        try expect(older.foos.map(\.name) == bar.foos.map(\.name), "the names have changed: \(older)")
    }

    private func graph() async throws {
        let both = Foo(name: "Alex", age: 30)
        let reds = Team(name: "Reds", players: [both, Foo(name: "Rosa", age: 31)])
        let blues = Team(name: "Blues", players: [Foo(name: "Bruno", age: 32), both])
        (reds.rival, blues.rival) = (blues, reds)

        let league = try await directory.mirror(League(teams: [reds, blues]))
        guard let copy = league.teams.first, let rival = copy.rival else {
            throw Surprise(description: "a team got lost on the way")
        }
        show("the rival of \(copy.name)", rival.name)
        show("and the rival of that one", rival.rival?.name ?? "nobody")
        show("the very same team as the first", rival.rival === copy)
        show("Alex is one object in both teams", copy.players[0] === rival.players[1])
        try expect(copy !== reds && copy.players[0] !== both, "the graph was not copied")
        try expect(rival.rival === copy && league.teams.last === rival, "the cycle was torn")
        try expect(copy.players.map(\.name) == ["Alex", "Rosa"], "the Reds are \(copy.players)")
        try expect(rival.players.map(\.name) == ["Bruno", "Alex"], "the Blues are \(rival.players)")
        try expect(copy.players[0] === rival.players[1], "the shared player has become two")
    }

    private func reference() async throws {
        var count = 0
        for foo in Bar().foos { count = try await directory.add(foo) }
        show("people entered", count)
        try expect(count == 2, "two were entered, and the directory counts \(count)")
        let found = try await directory.lookUp("Juliana")
        show("looked up", found)
        try expect(found.name == "Juliana" && found.age == 7, "Juliana was looked up, and \(found) was found")
        let left = try await directory.remove("Juliana")
        show("left when Juliana is removed", left)
        try expect(left == 1, "one should be left, and the directory counts \(left)")
    }

    private func callback() async throws {
        let observer = Observer()
        try await directory.watch(Remote(vending: observer))
        try await directory.add(Foo(name: "Zoe", age: 5))
        show("the observer was notified of", observer.names.joined(separator: ", "))
        try expect(observer.names == ["Zoe"], "the observer was notified of \(observer.names)")

        let home = try await directory.observer()
        let isSame = home?.local(as: Observer.self) === observer
        show("it comes home as the original", isSame)
        try expect(isSame, "what came home is not the observer itself")
        try await directory.unwatch()
    }

    private func error() async throws {
        do {
            let found = try await directory.lookUp("Nobody")
            throw Surprise(description: "somebody named Nobody was found: \(found)")
        } catch let error as DirectoryError {
            show("the server threw", error)
            try expect(error == .noSuchName("Nobody"), "the error has come as \(error)")
        }
    }

    private func oneWay() async throws {
        let notes = ["one", "two", "three"]
        for note in notes { try await directory.note.oneWay(note) }
        let kept = try await directory.notes()
        show("the server has noted", kept.joined(separator: ", "))
        try expect(Array(kept.suffix(3)) == notes, "the server has noted \(kept)")
    }
}
