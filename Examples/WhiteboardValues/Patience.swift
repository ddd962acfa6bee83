public import DistantObjects

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The time limits of the three programs.
public enum Patience {
    /// Five seconds, or the value of the variable `WHITEBOARD_PATIENCE`, for a debugger or a busy machine.
    public static let limit: Duration = {
        guard let text = getenv("WHITEBOARD_PATIENCE"), let seconds = Double(String(cString: text)), seconds > 0 else {
            return .seconds(5)
        }
        return .seconds(min(seconds, 1e9))
    }()
}

extension Connection.Configuration {
    /// The configuration of all three programs.
    public static var whiteboard: Connection.Configuration {
        var configuration = Connection.Configuration()
        configuration.handshakeTimeout = Patience.limit
        configuration.lookupTimeout = Patience.limit
        configuration.exitTimeout = Patience.limit
        return configuration
    }
}
