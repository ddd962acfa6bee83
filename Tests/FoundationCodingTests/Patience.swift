import DistantObjects

/// How long a test waits for what is sure to come: it ends a hang, and says nothing about how fast anything is.
enum Patience {
    /// For one handshake or one orderly close.
    static let wait = Duration.seconds(600)

    /// The defaults, but for the time that a handshake or a look-up may take.
    static var configuration: Connection.Configuration {
        var configuration = Connection.Configuration()
        configuration.handshakeTimeout = wait
        configuration.lookupDeadline = wait
        return configuration
    }
}
