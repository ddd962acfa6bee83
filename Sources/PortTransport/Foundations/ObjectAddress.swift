/// An object by its address, which does not count as a reference.
package struct ObjectAddress {
    private let address: UnsafeMutableRawPointer

    package init(_ object: some AnyObject) { address = Unmanaged.passUnretained(object).toOpaque() }

    /// Whether one reference alone holds the object; the caller must hold none of its own meanwhile.
    package var isHeldOnce: Bool {
        var address = address
        return withUnsafeMutablePointer(to: &address) { address in
            // As an object of some class: of `AnyObject` the language would open a copy, which counts.
            address.withMemoryRebound(to: SomeObject.self, capacity: 1) { isKnownUniquelyReferenced(&$0.pointee) }
        }
    }
}

private final class SomeObject {}
