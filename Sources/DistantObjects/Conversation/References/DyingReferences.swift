/// What was freed and has to be reported to the peer: ids of proxies, promises, and streams; usually there is one id.
struct DyingReferences {
    private final class Others {
        var rest: [ObjectID] = []
        var promises: [Ticket] = []
        var streams: [StreamInbox] = []
    }

    private(set) var first: ObjectID?
    private var others: Others?

    var rest: [ObjectID] { others?.rest ?? [] }
    var promises: [Ticket] { others?.promises ?? [] }
    /// Streams of the peer whose readers were freed.
    var streams: [StreamInbox] { others?.streams ?? [] }

    var count: Int {
        guard let others else { return first == nil ? 0 : 1 }
        return (first == nil ? 0 : 1) + others.rest.count + others.promises.count + others.streams.count
    }

    var isEmpty: Bool { first == nil && promises.isEmpty }

    /// Adds an id.
    ///
    /// - Returns: Whether the id is the first one; streams do not count.
    mutating func append(_ target: ProxyTarget) -> Bool {
        defer { add(target) }
        return isEmpty
    }

    private mutating func add(_ target: ProxyTarget) {
        switch target {
        case .answer(let ticket): madeOthers().promises.append(ticket)
        case .object(let id) where first == nil: first = id
        case .object(let id): madeOthers().rest.append(id)
        }
    }

    /// Adds a stream whose reader was freed.
    mutating func append(_ stream: StreamInbox) { madeOthers().streams.append(stream) }

    mutating func takeAll() -> DyingReferences {
        defer { self = DyingReferences() }
        return self
    }

    /// Removes and returns everything but the streams.
    mutating func takeReferences() -> DyingReferences {
        let streams = streams
        let taken = takeAll()
        for stream in streams { append(stream) }
        taken.others?.streams = []
        return taken
    }

    private mutating func madeOthers() -> Others {
        if let others { return others }
        let made = Others()
        others = made
        return made
    }
}
