/// Where a channel's input comes from.
///
///     endpoint ──announceMove──▶ moving ──move──▶ shared
///         │                        │                │
///        end                      end              end
///         ▼                        ▼                ▼
///       ended                    ended         sharedEnded
///
/// There are two copies. The one in the read state is for the thread that reads. The one in the gate's state, which is
/// never `moving`, is for the thread that sets the poller's interest or becomes the blocking reader.
enum InputState: UInt8 {
    /// From the socket, pipe or memory link.
    case endpoint
    /// From the endpoint, up to the frame that is being delivered.
    case moving
    /// Nothing more comes from the endpoint.
    case ended
    /// From the shared-memory transport.
    case shared
    /// Nothing more comes from the shared-memory transport.
    case sharedEnded

    @inline(__always)
    var isShared: Bool { rawValue >= InputState.shared.rawValue }

    @inline(__always)
    var isEnded: Bool { self == .ended || self == .sharedEnded }

    enum Transition {
        case made
        case refused
    }

    /// The frame that is being delivered is the endpoint's last.
    mutating func announceMove() -> Transition {
        guard self == .endpoint else { return .refused }
        self = .moving
        return .made
    }

    /// The endpoint's last frame has been delivered.
    ///
    /// The gate's state learns of the move only now, so this is allowed from `endpoint` as well.
    mutating func move() -> Transition {
        guard self == .endpoint || self == .moving else { return .refused }
        self = .shared
        return .made
    }

    /// - Returns: `refused` if the input had ended before.
    @discardableResult
    mutating func end() -> Transition {
        switch self {
        case .endpoint, .moving: self = .ended
        case .shared: self = .sharedEnded
        case .ended, .sharedEnded: return .refused
        }
        return .made
    }
}

/// Whether the descriptors of the shared-memory transport are on their way here.
///
///     notExpected ──expect──▶ expected ──lose──▶ lost
///          ▲                     │                │
///          └────────────────── take ──────────────┘
enum SharedMemoryArrival: UInt8 {
    case notExpected
    case expected
    /// They came, but this process had no room for them.
    case lost

    mutating func expect() { self = .expected }

    /// - Returns: False if none were expected: then it is an error that descriptors were lost.
    mutating func lose() -> Bool {
        guard self != .notExpected else { return false }
        self = .lost
        return true
    }

    /// - Returns: Whether they were lost.
    mutating func take() -> Bool {
        defer { self = .notExpected }
        return self == .lost
    }
}
