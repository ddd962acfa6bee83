/// Ids of references that are gone, nearly always one.
struct DyingReferences {
    private(set) var first: ObjectID?
    private(set) var rest: [ObjectID] = []

    /// Returns whether it is the first.
    mutating func append(_ id: ObjectID) -> Bool {
        guard first != nil else {
            first = id
            return true
        }
        rest.append(id)
        return false
    }
}
