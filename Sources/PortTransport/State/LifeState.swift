/// The life of a channel, under its gate.
///
///      created ────start────▶ started
///         │                      │
///        end                    end
///         ▼                      ▼
///     cancelled ───start────▶ ending
///         │                      │
///     deliverEnd             deliverEnd
///         ▼                      ▼
///     discarded ───start────▶  over
///
/// The reason why the channel ends is stored separately.
enum LifeState: UInt8 {
    /// Nothing is read yet.
    case created
    /// It has a handler.
    case started
    /// It has ended, and has no handler yet.
    case cancelled
    /// The loop will deliver the end to the handler.
    case ending
    /// It is over, and never had a handler.
    case discarded
    /// The handler has been notified of the end, or is being notified.
    case over

    @inline(__always)
    var hasEnd: Bool { rawValue >= LifeState.cancelled.rawValue }

    @inline(__always)
    var isOver: Bool { rawValue >= LifeState.discarded.rawValue }

    enum StartAction {
        /// It was started before.
        case refuse
        /// Read; or, if the channel has ended, wait until that is delivered.
        case begin
        /// The end was delivered before there was a handler: deliver it to this one.
        case deliverEnd
    }

    mutating func start() -> StartAction {
        switch self {
        case .created: self = .started
        case .cancelled: self = .ending
        case .discarded:
            self = .over
            return .deliverEnd
        case .started, .ending, .over: return .refuse
        }
        return .begin
    }

    enum EndAction {
        /// It has ended before.
        case refuse
        /// Shut the link down, and have the loop deliver the end.
        case shutDown
    }

    mutating func end() -> EndAction {
        switch self {
        case .created: self = .cancelled
        case .started: self = .ending
        case .cancelled, .ending, .discarded, .over: return .refuse
        }
        return .shutDown
    }

    enum DeliverAction {
        /// It has not ended, or is over.
        case refuse
        /// There is no handler.
        case discard
        case deliver
    }

    mutating func deliverEnd() -> DeliverAction {
        switch self {
        case .cancelled:
            self = .discarded
            return .discard
        case .ending:
            self = .over
            return .deliver
        case .created, .started, .discarded, .over: return .refuse
        }
    }
}

/// The sides of a channel that still use its link.
///
///     [input, output] ──leave(input)──▶ [output] ──leave(output)──▶ []: the link is closed
struct LinkUsers: OptionSet {
    let rawValue: UInt8

    static let input = LinkUsers(rawValue: 1)
    static let output = LinkUsers(rawValue: 2)

    enum LeaveAction {
        /// The other side still uses the link, or this one has left before.
        case none
        case closeLink
    }

    mutating func leave(_ side: LinkUsers) -> LeaveAction {
        guard isSuperset(of: side) else { return .none }
        subtract(side)
        return isEmpty ? .closeLink : .none
    }
}
