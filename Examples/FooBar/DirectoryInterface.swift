public import DistantObjects

/// What the server's directory can be asked.
public struct DirectoryInterface: Interface {
    /// The signatures.
    public init() {}

    /// Makes everybody in a Bar a year older, in the copy that arrives there.
    public let celebrate = Signature<Bar, Bar>("celebrate")
    /// Answers with the graph as it arrived.
    public let mirror = Signature<League, League>("mirror")
    /// Enters somebody, notifies the observer, and counts the entries.
    public let add = Signature<Int, Foo>("add")
    /// Finds somebody by name; throws `DirectoryError.noSuchName`.
    public let lookUp = Signature<Foo, String>("lookUp")
    /// Takes somebody out, and counts the entries that are left; throws `DirectoryError.noSuchName`.
    public let remove = Signature<Int, String>("remove")
    /// Notifies an observer of everybody who is entered from now on.
    public let watch = Signature<Void, Remote<ObserverInterface>>("watch")
    /// The observer.
    public let observer = Signature<Remote<ObserverInterface>?>("observer")
    /// Forgets the observer.
    public let unwatch = Signature<Void>("unwatch")
    /// Keeps a note.
    public let note = Signature<Void, String>("note")
    /// The notes, in order.
    public let notes = Signature<[String]>("notes")
}

/// What a session can be asked: a second root of each connection.
public struct SessionInterface: Interface {
    /// The signatures.
    public init() {}

    /// Ends the connection and the server, once the client has released everything; returns at once.
    public let stop = Signature<Void>("stop")
}

/// What an observer of the directory can be asked; the client has one.
public struct ObserverInterface: Interface {
    /// The signatures.
    public init() {}

    /// Somebody of that name was entered.
    public let added = Signature<Void, String>("added")
}
