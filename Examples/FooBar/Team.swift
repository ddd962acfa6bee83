public import DistantObjects

/// A team with a rival that has this team for its rival: a graph with a cycle; sent by copy.
public final class Team: ObjectCoding {
    /// What it is called.
    public let name: String
    /// Who plays; somebody may play in both teams and is one object then.
    public var players: [Foo]
    /// The other team.
    ///
    /// A league holds both. If they held each other, each copy that a program makes or receives would stay in its memory.
    public weak var rival: Team?

    /// A team without rival.
    public init(name: String, players: [Foo]) {
        self.name = name
        self.players = players
    }

    /// Reads a team from an archive or a message.
    public init(coder: ObjectDecoder) throws {
        name = try coder.decode(String.self, forKey: "name")
        players = try coder.decode([Foo].self, forKey: "players")
        // The way back to this very team comes through here, before this initialiser has returned.
        try coder.decodeReference(Team.self, forKey: "rival") { self.rival = $0 }
    }

    /// Writes it.
    public func encode(with coder: ObjectEncoder) throws {
        try coder.encode(name, forKey: "name")
        try coder.encode(players, forKey: "players")
        try coder.encode(rival, forKey: "rival")
    }
}
