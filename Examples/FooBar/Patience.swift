public import DistantObjects

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The time limits of the two programs.
public enum Patience {
    /// Five seconds, or the value of the variable `FOOBAR_PATIENCE`, for a debugger or a busy machine.
    public static let limit: Duration = {
        guard let text = getenv("FOOBAR_PATIENCE"), let seconds = Double(String(cString: text)), seconds > 0 else {
            return .seconds(5)
        }
        return .seconds(min(seconds, 1e9))
    }()
}

extension Connection.Configuration {
    /// The configuration of both programs.
    public static var fooBar: Connection.Configuration {
        var configuration = Connection.Configuration()
        configuration.errorTypes = [DirectoryError.self]
        configuration.handshakeTimeout = Patience.limit
        configuration.lookupTimeout = Patience.limit
        return configuration
    }
}
