import Synchronization

private let names = Mutex<[ObjectIdentifier: String]>([:])

/// The name of a type without its module.
///
/// Asking the runtime takes a microsecond, so answers are kept.
func unqualifiedName(of type: Any.Type) -> String {
    names.withLock { names in
        if let known = names[ObjectIdentifier(type)] { return known }
        let name = _typeName(type, qualified: false)
        names[ObjectIdentifier(type)] = name
        return name
    }
}
