/// Ids of proxies and promises that were freed; usually there is one.
struct DyingReferences {
    private(set) var first: ObjectID?
    private(set) var rest: [ObjectID] = []
    private(set) var promises: [Ticket] = []
    /// Streams of the peer whose readers were freed.
    var streams: [StreamInbox] = []

    var isEmpty: Bool { first == nil && promises.isEmpty }

    /// Adds an id.
    ///
    /// - Returns: Whether it is the first one.
    mutating func append(_ target: ProxyTarget) -> Bool {
        defer { add(target) }
        return isEmpty
    }

    private mutating func add(_ target: ProxyTarget) {
        switch target {
        case .answer(let ticket): promises.append(ticket)
        case .object(let id) where first == nil: first = id
        case .object(let id): rest.append(id)
        }
    }
}
