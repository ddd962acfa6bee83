/// What the directory throws; known to both programs, so that it arrives as itself.
public enum DirectoryError: Error, Codable, Equatable {
    /// Nobody of that name is in the directory.
    case noSuchName(String)
}
