/// All mutable state of a decoder, behind a pointer like `EncoderState`.
struct DecoderState: ~Copyable {
    var frame: DecoderFrame
    var depth = 0
    /// Where each value around the current one was left.
    var levels = LevelStack<DecoderLevel>()
    var serials = 1
    /// The serial number of the last frame before this archive.
    var firstSerial = 1
    /// The nested containers and super decoders that are being read from, innermost last.
    var detached: Unmanaged<DetachedPlace>?
    var objectCount = 0
    var bodies = BodyTable()
    /// For each object what is known of it.
    var slots: ZeroedMemory<ObjectSlot>
    /// How many of the slots own their objects.
    var owned = 0
    /// The shapes, which the decoder retains, without the cost of an array.
    var shapes: UnsafeMutablePointer<ShapeEntry>
    var shapeCount: Int
    var readers = MetatypeCache()
    var notes = DecoderNotes()
    /// Whether the archive has no objects, shapes or owner: then `unload` has little to reset.
    var isPlain = false

    /// Opens the next value one level deeper, where there is room; returns its frame's serial number.
    mutating func openValue() -> Int {
        levels.levels[depth].note(frame)
        depth &+= 1
        let serial = nextSerial()
        frame = DecoderFrame(valueIn: frame, serial: serial, height: frame.height)
        return serial
    }

    /// A serial number that no frame has used.
    @inline(__always)
    mutating func nextSerial() -> Int {
        serials &+= 1
        return serials
    }
}

/// A shape, and the class that was last found for it.
struct ShapeEntry {
    let shape: Unmanaged<Shape>
    private var expected: ObjectIdentifier?
    private var list: ObjectIdentifier?
    private var found: ResolvedClass?

    init(_ shape: Shape) { self.shape = Unmanaged.passUnretained(shape) }

    /// Whether a class was found for it.
    var isUsed: Bool { expected != nil }

    /// The class found last.
    var last: ResolvedClass? { found }

    /// The class found last, if it was found for the same class under the same list.
    @inline(__always)
    func found(for expected: ObjectIdentifier, _ list: ObjectIdentifier?) -> ResolvedClass? {
        self.expected == expected && self.list == list ? found : nil
    }

    mutating func remember(_ found: ResolvedClass, for expected: ObjectIdentifier, _ list: ObjectIdentifier?) {
        self.expected = expected
        self.list = list
        self.found = found
    }
}

enum ResolvedClass {
    case coding(any ObjectCoding.Type)
    case plain(any (AnyObject & Decodable).Type)

    var type: any (AnyObject & Decodable).Type {
        switch self {
        case .coding(let type): type
        case .plain(let type): type
        }
    }
}
