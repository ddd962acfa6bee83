public import DistantObjects

/// Teams that play against each other; sent by copy together with its teams.
public final class League: ObjectCoding {
    /// The teams, in order.
    public var teams: [Team]

    /// A league of these teams.
    public init(teams: [Team]) {
        self.teams = teams
    }

    /// Reads a league from an archive or a message.
    public init(coder: ObjectDecoder) throws {
        teams = try coder.decode([Team].self, forKey: "teams")
    }

    /// Writes it.
    public func encode(with coder: ObjectEncoder) throws {
        try coder.encode(teams, forKey: "teams")
    }
}
