public import DistantObjects
public import ServiceLifecycle

/// A listener that runs in a service group, and closes in order when the group shuts down.
public struct ListenerService: Service {
    let listener: Listener
    let grace: Duration
    let accept: @Sendable (Connection) throws -> Void

    /// - Parameters:
    ///   - grace: How long calls under way may take after the group has begun to shut down.
    ///   - accept: Vends objects to a connection.
    public init(
        _ listener: Listener, grace: Duration = .seconds(30), accept: @escaping @Sendable (Connection) throws -> Void
    ) {
        (self.listener, self.grace, self.accept) = (listener, grace, accept)
    }

    // Operations.md: service
    /// Serves until the group shuts down, or the listener is closed.
    public func run() async throws {
        defer { listener.close() }
        try await withTaskCancellationOrGracefulShutdownHandler {
            for await connection in listener { try accept(connection) }
            await listener.ended
        } onCancelOrGracefulShutdown: { [listener, grace] in
            listener.close(timeout: grace)
        }
    }
    // end
}

/// A helper that stops when its service group shuts down, and ends the group if it is given up.
public struct HelperService<I: Interface>: Service {
    let helper: Helper<I>
    let grace: Duration
    let onEvent: @Sendable (HelperEvent) -> Void

    /// - Parameters:
    ///   - grace: How long calls under way may take after the group has begun to shut down.
    ///   - onEvent: Gets each event of the helper.
    public init(
        _ helper: Helper<I>, grace: Duration = .seconds(30),
        onEvent: @escaping @Sendable (HelperEvent) -> Void = { _ in }
    ) {
        (self.helper, self.grace, self.onEvent) = (helper, grace, onEvent)
    }

    /// Runs until the group shuts down.
    ///
    /// - Throws: `HelperGivenUp`, so that the group ends, too.
    public func run() async throws {
        let events = Task {
            for await event in helper.events {
                onEvent(event)
                if case .gaveUp(let reason) = event { throw HelperGivenUp(reason: reason) }
            }
        }
        try await withTaskCancellationOrGracefulShutdownHandler {
            try await events.value
        } onCancelOrGracefulShutdown: { [helper, grace] in
            Task { await helper.stop(timeout: grace) }
        }
    }
}

/// A helper is not started again.
public struct HelperGivenUp: Error {
    /// Why.
    public let reason: String
}
