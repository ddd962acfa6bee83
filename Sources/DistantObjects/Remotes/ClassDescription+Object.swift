extension ClassDescription {
    /// The class of an object, as its process describes it; `nil` if that is of a version that does not, or if the description
    /// cannot be read.
    public init?(of object: DistantObject) {
        guard let found = try? object.place.described?.description else { return nil }
        self = found
    }
}
