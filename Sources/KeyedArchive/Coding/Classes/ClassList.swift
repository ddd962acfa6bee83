/// The classes allowed under a key and everything below it.
final class ClassList {
    private let types: Set<ObjectIdentifier>
    let classes: [any (AnyObject & Decodable).Type]

    init(_ classes: [any (AnyObject & Decodable).Type]) {
        self.classes = classes
        types = Set(classes.map { ObjectIdentifier($0) })
    }

    func contains(_ type: Any.Type) -> Bool { types.contains(ObjectIdentifier(type)) }
}
