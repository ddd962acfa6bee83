/// How far an object of an archive is decoded, in one word.
///
/// All bits are zero while nothing is known of the object.
struct ObjectSlot: BitwiseCopyable, Equatable {
    private var bits: UInt

    static var empty: ObjectSlot { ObjectSlot(bits: 0) }
    static var building: ObjectSlot { ObjectSlot(bits: 2) }
    static var failed: ObjectSlot { ObjectSlot(bits: 4) }

    /// Set if something else keeps the object alive; the addresses of objects are even.
    private static var borrowed: UInt { 1 }

    private init(bits: UInt) { self.bits = bits }

    /// A slot for a finished object, which it retains.
    @inline(__always)
    init(owning object: AnyObject) {
        bits = UInt(bitPattern: Unmanaged.passRetained(object).toOpaque())
    }

    /// A slot for a finished object that something else keeps alive.
    @inline(__always)
    init(borrowing object: AnyObject) {
        bits = UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque()) | Self.borrowed
    }

    /// Whether the slot retains its object.
    @inline(__always)
    var isOwner: Bool { bits > Self.failed.bits && bits & Self.borrowed == 0 }

    /// The finished object.
    @inline(__always)
    var object: Unmanaged<AnyObject>? {
        guard bits > Self.failed.bits, let address = UnsafeRawPointer(bitPattern: bits & ~Self.borrowed) else {
            return nil
        }
        return Unmanaged.fromOpaque(address)
    }
}
