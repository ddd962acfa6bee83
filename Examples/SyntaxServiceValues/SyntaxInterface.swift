public import DistantObjects

/// What the helper can be asked.
public struct SyntaxInterface: Interface {
    /// The signatures.
    public init() {}
    /// The declarations of a file, in order.
    ///
    /// It could run twice, but is not said to be idempotent: a file that brings one helper down would bring down the next one, too,
    /// with all that it is asked.
    public let outline = Signature<[Declaration], SourceFile>("outline")
    /// The number of the helper's build.
    public let build = Signature<Int>("build", idempotent: true)
    /// The most memory that the helper has taken since it was started, in bytes.
    public let memory = Signature<Int>("memory", idempotent: true)
}
