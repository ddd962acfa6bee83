/// A handler that waits for the end of an object's owner.
public final class EndRegistration: Sendable {
    private let remove: @Sendable () -> Void

    init(_ remove: @escaping @Sendable () -> Void) { self.remove = remove }

    /// Lets the handler go, unless it is being called or was called.
    public func cancel() { remove() }
}
