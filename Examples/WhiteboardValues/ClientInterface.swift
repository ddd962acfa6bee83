public import DistantObjects

/// What the demonstration asks a client to do.
public struct ClientInterface: Interface {
    /// The signatures.
    public init() {}
    /// Draws so many strokes.
    public let draw = Signature<Void, Int>("draw")
    /// Waits until the client has seen so many strokes, and returns whose they are.
    public let seen = Signature<[String: Int], Int>("seen")
    /// Waits until a person has left.
    public let noticed = Signature<Void, String>("noticed")
}
