extension DistantObject {
    /// Has a handler called once when the process that owns the object is gone: it has died, closed the connection, or this
    /// side has.
    ///
    /// The object is of no use from then on. If that has happened already, the handler is called soon. It runs on the
    /// connection's loop and must not block. For an object of this process it is never called.
    ///
    /// - Parameter handler: Kept until it is called, or until the registration is cancelled.
    /// - Returns: The registration, for `cancel()`. Letting it go cancels nothing.
    @discardableResult
    public func onEnd(_ handler: @escaping @Sendable (ConnectionEnd) -> Void) -> EndRegistration {
        guard let connection else { return EndRegistration {} }
        let number = connection.add(handler)
        return EndRegistration { connection.removeHandler(number) }
    }
}
