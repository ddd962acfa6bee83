// swift-format-ignore-file
// It is laid out as MainActorModule.md shows it. Its target has the default isolation MainActor.

import DistantObjects
import KeyedArchive
import Synchronization

// MainActorModule.md: values
nonisolated struct Track: Codable, Sendable {
    var title: String
    var seconds: Int
}

enum PlayerError: Error, Codable {
    case noTrack
}
// end

// MainActorModule.md: interface
struct PlayerInterface: Interface {
    let add = Signature<Int, Track>("add")
    let longest = Signature<Track>("longest")
    static var errors: [any (Error & Codable).Type] { [PlayerError.self] }
}
// end

// MainActorModule.md: main actor
@MainActor
final class Player: Vendable, Implements {
    typealias I = PlayerInterface
    private var tracks: [Track] = []

    nonisolated static var messages: MessageTable<Player> {
        Message(\I.add, Player.add)
        Message(\I.longest, Player.longest)
    }

    func add(_ track: Track) -> Int {
        tracks.append(track)
        return tracks.count
    }

    func longest() throws -> Track {
        guard let track = tracks.max(by: { $0.seconds < $1.seconds }) else { throw PlayerError.noTrack }
        return track
    }
}
// end

// MainActorModule.md: loop
final class Journal: Vendable {
    private let lines = Mutex<[String]>([])

    static var messages: MessageTable<Journal> {
        Message("write", Journal.write)
        Message("count", Journal.count)
    }

    func write(_ line: String) { lines.withLock { $0.append(line) } }
    func count() -> Int { lines.withLock { $0.count } }
}
// end

// MainActorModule.md: graph
nonisolated final class Playlist: ObjectCoding {
    let titles: [String]

    init(_ titles: [String]) { self.titles = titles }
    init(coder: ObjectDecoder) throws { titles = try coder.decode([String].self, forKey: "titles") }
    func encode(with coder: ObjectEncoder) throws { try coder.encode(titles, forKey: "titles") }
}
// end

/// Takes a graph by copy.
final class Shelf: Vendable {
    static var messages: MessageTable<Shelf> { Message("reversed", Shelf.reversed) }

    func reversed(_ list: Playlist) -> Playlist { Playlist(list.titles.reversed()) }
}

// MainActorModule.md: call
final class Display {
    var text = ""

    func show(_ player: Remote<PlayerInterface>) async throws {
        text = "…"
        text = try await player.longest().title
    }
}
// end

@main
struct Helper {
    // MainActorModule.md: main
    static func main() async throws {
        let connection = try await Connection.parent()
        connection.vend(["player": Player(), "journal": Journal(), "shelf": Shelf()])
        // end
        connection.vend(Screen(), as: "screen")
        // MainActorModule.md: main
        _ = await connection.ended
    }
    // end
}

/// Calls a player of the process that started this one.
@MainActor
final class Screen: Vendable {
    private let display = Display()

    nonisolated static var messages: MessageTable<Screen> { Message("show", Screen.show) }

    func show(_ player: Remote<PlayerInterface>) async throws -> String {
        try await display.show(player)
        return display.text
    }
}
