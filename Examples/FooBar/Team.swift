public import DistantObjects

/// A team with a rival whose rival is this team: a graph with a cycle; sent by copy.
public final class Team: ObjectCoding {
    /// The name.
    public let name: String
    /// The players.
    ///
    /// A player of both teams is one object.
    public var players: [Foo]
    /// The other team.
    ///
    /// A league holds both teams. If the teams held each other, each copy of them would leak.
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
        // The rival's reference to this team is decoded here, before this initialiser returns.
        try coder.decodeReference(Team.self, forKey: "rival") { self.rival = $0 }
    }

    /// Writes it.
    public func encode(with coder: ObjectEncoder) throws {
        try coder.encode(name, forKey: "name")
        try coder.encode(players, forKey: "players")
        try coder.encode(rival, forKey: "rival")
    }
}
