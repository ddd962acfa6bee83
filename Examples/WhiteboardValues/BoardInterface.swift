public import DistantObjects

/// What the whiteboard can be asked.
public struct BoardInterface: Interface {
    /// The signatures.
    public init() {}
    /// Lets a person draw: the person's name, and the observer to notify of other people; the pen is the person's own.
    public let join = Signature<Remote<PenInterface>, String, Remote<ObserverInterface>>("join")
    /// All strokes, the earlier ones first, then each as it is drawn.
    public let strokes = Signature<DistantStream<Stroke>>("strokes")
    /// The people who draw.
    public let people = Signature<[String]>("people")
}

/// What a pen can be asked.
public struct PenInterface: Interface {
    /// The signatures.
    public init() {}
    /// Draws a stroke.
    public let draw = Signature<Void, Int, Int>("draw")
}

/// What an observer in a client is notified of.
public struct ObserverInterface: Interface {
    /// The signatures.
    public init() {}
    /// A person has joined.
    public let joined = Signature<Void, String>("joined")
    /// A person has left, or died.
    public let left = Signature<Void, String>("left")
}
