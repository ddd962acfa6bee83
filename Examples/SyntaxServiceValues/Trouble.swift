/// A name that brings trouble to the helper which reads it, as some input does to every parser.
public enum Trouble: String, CaseIterable, Sendable {
    /// The helper crashes.
    case crash
    /// Nothing runs in the helper any more.
    case hang
    /// The answer never comes, and the rest of the helper goes on.
    case slow
    /// The helper takes more and more memory.
    case leak
    /// The helper prints to its standard output.
    case print
}
