/// An object by its address, which does not count as a reference.
package struct ObjectAddress {
    private let address: UnsafeMutableRawPointer

    package init(_ object: some AnyObject) { address = Unmanaged.passUnretained(object).toOpaque() }

    /// Whether the object has exactly one reference; the caller must hold none of its own during the call.
    package var isHeldOnce: Bool {
        var address = address
        return withUnsafeMutablePointer(to: &address) { address in
            // Rebound to a class: with `AnyObject` the language would make a copy, which counts as a second reference.
            address.withMemoryRebound(to: SomeObject.self, capacity: 1) { isKnownUniquelyReferenced(&$0.pointee) }
        }
    }
}

private final class SomeObject {}
