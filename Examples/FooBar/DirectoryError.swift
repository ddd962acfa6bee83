public import DistantObjects

/// What the directory throws; known to both programs, so that it arrives as itself.
public enum DirectoryError: Error, Codable, Equatable {
    /// Nobody of that name is in the directory.
    case noSuchName(String)
}

extension Connection.Configuration {
    /// What both programs configure alike.
    public static var fooBar: Connection.Configuration {
        var configuration = Connection.Configuration()
        configuration.errorTypes = [DirectoryError.self]
        return configuration
    }
}
