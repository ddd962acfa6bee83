/// The errors of the directory.
///
/// Both programs know the type, so it arrives unchanged.
public enum DirectoryError: Error, Codable, Equatable {
    /// No person with that name is in the directory.
    case noSuchName(String)
}
