// FirstConnection.md: interfaces
public import DistantObjects

/// What the worker's counter can be asked.
public struct CounterInterface: Interface {
    /// The signatures: of each its result, then its arguments.
    public init() {}
    /// Counts the words of a file.
    public let count = Signature<WordCount, String>("count")
    /// Counts the words of several files, and notifies an observer of each.
    public let countAll = Signature<Int, [String], Remote<ObserverInterface>>("countAll")
    /// The errors that reach the tool as the worker threw them.
    public static var errors: [any (Error & Codable).Type] { [WordCountError.self] }
}

/// What an observer in the tool can be asked.
public struct ObserverInterface: Interface {
    /// The signatures.
    public init() {}
    /// A file was counted.
    public let counted = Signature<Void, String, WordCount>("counted")
}
// end
