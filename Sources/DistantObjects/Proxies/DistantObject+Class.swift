extension DistantObject {
    /// Returns the class of an object as its process describes it.
    ///
    /// A static function, because every other name is a message.
    /// - Returns: `nil` if the class is not described, as by programs of an older version, or if the description cannot be
    ///   read.
    public static func classDescription(of object: DistantObject) -> ClassDescription? {
        try? object.place.described?.description
    }
}
