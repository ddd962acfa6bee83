extension DistantObject {
    /// Returns the class of an object as its process describes it.
    ///
    /// A static function, because every other name is a message.
    /// - Returns: `nil` if the process is of a version that describes no classes, or if the description cannot be read.
    public static func classDescription(of object: DistantObject) -> ClassDescription? {
        try? object.place.described?.description
    }
}

extension MessagePlace {
    /// The class of the object, if it is known.
    var described: DescribedClass? {
        guard let object else { return describedClass }
        return ClassMessages.of(object)._withUnsafeGuaranteedRef { $0.described }
    }
}
