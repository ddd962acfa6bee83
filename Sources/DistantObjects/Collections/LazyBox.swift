/// A value in memory of its own, which is made when it is first needed.
///
/// It is one word. Unlike an object the value has no header, and its users count no references.
struct LazyBox<Value: MadeOnDemand & ~Copyable>: ~Copyable {
    private var place: UnsafeMutablePointer<Value>?

    init() {}

    deinit {
        guard let place else { return }
        place.deinitialize(count: 1)
        place.deallocate()
    }

    /// The value; the first use makes it.
    var value: Value {
        @inline(__always) mutating _read { yield made.pointee }
        @inline(__always) _modify { yield &made.pointee }
    }

    /// Whether the value was made.
    @inline(__always)
    var isMade: Bool { place != nil }

    /// Looks at the value if it was made.
    @inline(__always)
    func read<Result>(_ body: (borrowing Value) -> Result) -> Result? {
        guard let place else { return nil }
        return body(place.pointee)
    }

    private var made: UnsafeMutablePointer<Value> {
        @inline(__always) mutating get { place ?? make() }
    }

    @inline(never)
    private mutating func make() -> UnsafeMutablePointer<Value> {
        let made = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        made.initialize(to: Value())
        place = made
        return made
    }
}

/// The content of a `LazyBox`.
protocol MadeOnDemand: ~Copyable {
    init()
}
