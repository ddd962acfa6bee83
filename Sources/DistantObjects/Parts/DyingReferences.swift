/// Ids of proxies that were freed; usually there is one.
struct DyingReferences {
    private(set) var first: ObjectID?
    private(set) var rest: [ObjectID] = []

    /// Adds an id.
    ///
    /// - Returns: Whether it is the first one.
    mutating func append(_ id: ObjectID) -> Bool {
        guard first != nil else {
            first = id
            return true
        }
        rest.append(id)
        return false
    }
}
