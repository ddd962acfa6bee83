public import DistantObjects

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// How long the two programs wait for each other.
public enum Patience {
    /// Five seconds, or as many as the variable `FOOBAR_PATIENCE` says: for a debugger, or a machine with much else to do.
    public static let limit: Duration = {
        guard let text = getenv("FOOBAR_PATIENCE"), let seconds = Double(String(cString: text)), seconds > 0 else {
            return .seconds(5)
        }
        return .seconds(min(seconds, 1e9))
    }()
}

extension Connection.Configuration {
    /// What both programs configure alike.
    public static var fooBar: Connection.Configuration {
        var configuration = Connection.Configuration()
        configuration.errorTypes = [DirectoryError.self]
        configuration.handshakeTimeout = Patience.limit
        configuration.lookupDeadline = Patience.limit
        return configuration
    }
}
