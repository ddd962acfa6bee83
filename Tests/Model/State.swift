// The state of a connection, as far as the release rule depends on it: two parties, each with a table of exports, a
// table of imports, an encode in progress and a FIFO channel to the other. Arguments, results, fragments and credit do
// not affect the lifetime of references and are left out.

/// The bounds of the state space.
///
/// They are small on purpose: every fault of a `Variant` shows within them.
enum Bound {
    /// Slots in each export table.
    static let slots = 2
    /// How often a slot may be allocated; then it is retired, like a slot whose generation would wrap.
    static let generations: UInt8 = 3
    /// Frames in transit in one direction.
    static let channel: UInt8 = 2
    /// Messages that the two parties may commit in total.
    static let messages: UInt8 = 5
    /// Entered messages that mention one id and are not decoded yet.
    static let pins: UInt8 = 2
    /// Distinct numbers in one direction, from the oldest that anything still refers to.
    static let number: UInt8 = 7
}

/// Two values of one kind, selected by a small number: a slot, or a party.
struct Pair<Value> {
    var first: Value
    var second: Value

    init(_ value: Value) {
        first = value
        second = value
    }

    subscript(index: Int) -> Value {
        get { index == 0 ? first : second }
        set { if index == 0 { first = newValue } else { second = newValue } }
    }
}

/// A slot with its generation, or nothing; represents an object in a message.
struct Reference: Equatable {
    var bits: UInt8 = 0

    static let none = Reference()

    init() {}

    init(slot: Int, generation: UInt8) {
        bits = 8 | UInt8(slot) << 2 | generation
    }

    var exists: Bool { bits != 0 }
    var slot: Int { Int(bits >> 2 & 1) }
    var generation: UInt8 { bits & 3 }
}

/// The owner's side of one slot.
struct Export {
    var isHeld = false
    var generation: UInt8 = 0
    /// The number of the last opener that mentioned the object, or the number of mentions if they are counted.
    var last: UInt8 = 0
}

/// The holder's side of one slot.
struct Import {
    var isKnown = false
    var generation: UInt8 = 0
    var hasProxy = false
    /// Entered openers that mention the id and are not decoded yet.
    var pins: UInt8 = 0
    /// Whether it is on the list of ids to release.
    var isListed = false
    /// A proxy without references whose `deinit` has not run yet.
    var late = Reference.none
    /// The number of mentions received; used only if mentions are counted.
    var received: UInt8 = 0
}

/// An encode in progress: the objects collected so far, strongly held and not in any table yet.
struct Draft {
    enum Own: UInt8 {
        case none
        /// An object that was not exported when it was collected.
        case fresh
        /// The object that was exported as `reference` when it was collected.
        case exported
        /// In one variant: the encode itself has taken the slot.
        case picked
    }

    var own = Own.none
    var reference = Reference.none
    /// The slot of the collected proxy plus one; zero for none.
    var proxy: UInt8 = 0

    var isEmpty: Bool { own == .none && proxy == 0 }
}

/// A frame: an opener with its reference table, or a Release.
struct Frame {
    /// An object of the sender.
    var mention = Reference.none
    /// An object of the receiver: the target of a call, or a proxy going home.
    var home = Reference.none
    /// Ids of the receiver's objects that the sender releases, by slot.
    var released = Pair(Reference.none)
    /// The number of openers that the sender had entered when it released the ids.
    var watermark: UInt8 = 0

    var isRelease: Bool { released.first.exists || released.second.exists }
}

/// Frames in transit, oldest first.
struct Channel {
    var frames = Pair(Frame())
    var count: UInt8 = 0

    mutating func append(_ frame: Frame) {
        frames[Int(count)] = frame
        count += 1
    }

    mutating func remove(at index: Int) -> Frame {
        let frame = frames[index]
        if index == 0 { frames.first = frames.second }
        frames.second = Frame()
        count -= 1
        if count == 0 { frames.first = Frame() }
        return frame
    }

    mutating func truncate(to length: UInt8) {
        if length < 2 { frames.second = Frame() }
        if length < 1 { frames.first = Frame() }
        count = length
    }

    /// Whether a frame in transit satisfies `condition`.
    func contains(_ condition: (Frame) -> Bool) -> Bool {
        (count > 0 && condition(frames.first)) || (count > 1 && condition(frames.second))
    }
}

/// One end of the connection.
struct Party {
    var exports = Pair(Export())
    var imports = Pair(Import())
    var draft = Draft()
    var outgoing = Channel()
    /// Frames committed to `outgoing` so far.
    var sent: UInt8 = 0
    /// Frames entered from the other party so far.
    var entered: UInt8 = 0
    var hasEnded = false

    // Fields that only variants use.
    /// Whether the oldest incoming frame is counted as entered although it is not.
    var isCountedAhead = false
    /// An id of one of the party's own objects, entered and not resolved yet.
    var unresolved = Reference.none
    /// Ids chosen for a Release that has no watermark yet.
    var chosen = Pair(Reference.none)
}

/// The state of both parties.
struct State {
    /// Messages that either party may still commit.
    var messagesLeft = Bound.messages
    var parties = Pair(Party())
}
