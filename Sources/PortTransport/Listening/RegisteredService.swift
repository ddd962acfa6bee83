/// A service of this user that has its name, or had it when its process ended.
public struct RegisteredService: Sendable, Hashable {
    /// Whether a service runs.
    public enum State: Sendable, Hashable {
        /// A process has the name.
        case running
        /// A process was started for the name, and does not listen yet.
        case starting
        /// The process that had the name has ended without removing its files; the next one takes the name.
        case stale
    }

    /// Its name.
    public let name: String
    /// Whether it runs.
    public let state: State
    /// The number of the process, or of the one that starts it; 0 if it is not known.
    ///
    /// That of another process, if the service is stale.
    public let pid: Int32
    /// The name of its program.
    public let program: String
    /// The version of its program's library, as text.
    public let version: String
}
