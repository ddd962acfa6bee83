import PortTransport

/// Connects to the socket of an address.
enum Dialing {
    /// The pauses between tries.
    private static let pauses = (shortest: Duration.milliseconds(1), longest: Duration.milliseconds(50))

    /// Connects, also by starting the program of the address.
    ///
    /// - Parameters:
    ///   - timeout: How long to try while nobody listens, if the address has no program.
    ///   - timeoutForRoom: How long to try while the queue of the listener is full.
    /// - Throws: `ConnectionError.transport`; `CancellationError`.
    static func connect(
        to address: ConnectionAddress, timeout: Duration, forRoom timeoutForRoom: Duration
    ) async throws -> ChannelEndpoint {
        do {
            let path = try address.socketPath(makingFolder: address.program != nil)
            var start = address.program.map { ServiceStart(path: path, $0, version: ProtocolLimits.version) }
            let begin = ContinuousClock.now
            var pause = pauses.shortest
            while true {
                let found: TransportError
                do { return try ChannelEndpoint.connect(path: path) } catch { found = error }
                let limit: Duration? =
                    switch found.code {
                    case .notFound, .nobodyListens: start == nil ? timeout : nil
                    // The kernel does not notify when there is room.
                    case .listenerBusy: timeoutForRoom
                    default: .zero
                    }
                if let limit {
                    let rest = limit - begin.duration(to: .now)
                    guard rest > .zero else { throw found }
                    try await Task.sleep(for: min(pause, rest))
                } else {
                    try start?.nobodyListens()
                    try await Task.sleep(for: pause)
                }
                pause = min(pause * 2, pauses.longest)
            }
        } catch let error as TransportError {
            throw ConnectionError(.transport, error.message, context: address.description, underlying: error)
        }
    }
}

extension ConnectionAddress {
    fileprivate var program: ServiceStart.Program? {
        if case .service(_, let program) = kind { program } else { nil }
    }
}
