public import DistantObjects
public import Logging

extension Connection.Configuration {
    // Operations.md: log
    /// Logs each event of the connections, besides what `onEvent` does already.
    public mutating func log(to logger: Logger) {
        let next = onEvent
        onEvent = { event in
            next?(event)
            var metadata: Logger.Metadata = ["event": "\(event.code)"]
            // The events of a listener have no connection.
            if let connection = Connection.current { metadata["connection"] = "\(connection.name)" }
            if let peer = event.peer ?? Connection.current?.peer { metadata["peer"] = "\(peer)" }
            logger.log(level: event.level, "\(event)", metadata: metadata)
        }
    }
    // end
}

extension ConnectionEvent {
    // Operations.md: level
    /// How much an event matters to who runs the program.
    public var level: Logger.Level {
        switch code {
        case .opened: .debug
        case .childExited: .info
        case .ended: end?.isOrderly == true ? .debug : .warning
        case .threadsExhausted, .acceptPaused: .error
        default: .warning
        }
    }
    // end
}

extension Helper {
    /// Logs what happens to the helper, until it is stopped.
    public func log(to logger: Logger) async {
        for await event in events { logger.log(level: event.level, "\(event)") }
    }
}

extension HelperEvent {
    /// How much an event matters to who runs the program.
    public var level: Logger.Level {
        switch self {
        case .started, .waiting: .info
        case .ended(let end): end.isOrderly ? .info : .warning
        case .unresponsive, .suspended: .warning
        case .gaveUp: .error
        @unknown default: .warning
        }
    }
}
