import DistantObjects
import KeyedArchive
import TestSupport
import Testing

/// What the helper of MainActorModule.md knows under the same names.
private struct Track: Codable, Sendable, Equatable {
    var title: String
    var seconds: Int
}

private struct PlayerInterface: Interface {
    let add = Signature<Int, Track>("add")
    let longest = Signature<Track>("longest")
}

private final class Playlist: ObjectCoding, Sendable {
    let titles: [String]

    init(_ titles: [String]) { self.titles = titles }
    init(coder: ObjectDecoder) throws { titles = try coder.decode([String].self, forKey: "titles") }
    func encode(with coder: ObjectEncoder) throws { try coder.encode(titles, forKey: "titles") }
}

private final class Songs: Vendable, Implements {
    typealias I = PlayerInterface

    static var messages: MessageTable<Songs> {
        Message(\I.add, Songs.add)
        Message(\I.longest, Songs.longest)
    }

    func add(_ track: Track) -> Int { 1 }
    func longest() -> Track { Track(title: "So what", seconds: 540) }
}

@Suite("A helper whose module has the main actor as default", .bounded())
struct MainActorModuleTests {
    @Test("Its objects of the main actor and of the loop answer, its errors and graphs arrive, and it calls back")
    func mainActorHelper() async throws {
        let helper = try await Connection.launch(
            try builtProgram("main-actor-helper"), configuration: .patientExample)
        try await withConnection(helper) { connection in
            let player = try await connection.root(named: "player", as: PlayerInterface.self)
            let error = await #expect(throws: RemoteError.self) { _ = try await player.longest() }
            #expect(error?.typeName == "PlayerError")
            #expect(try await player.add(Track(title: "Naima", seconds: 260)) == 1)
            #expect(try await player.add(Track(title: "Giant Steps", seconds: 286)) == 2)
            #expect(try await player.longest() == Track(title: "Giant Steps", seconds: 286))

            let journal = try await connection.root(named: "journal")
            try await journal.write("played")
            let count: Int = try await journal.count()
            #expect(count == 1)

            let shelf = try await connection.root(named: "shelf")
            let list: Playlist = try await shelf.reversed(Playlist(["a", "b"]))
            #expect(list.titles == ["b", "a"])

            let screen = try await connection.root(named: "screen")
            let shown: String = try await screen.show(Songs())
            #expect(shown == "So what")
        }
    }
}
