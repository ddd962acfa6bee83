/// Everything a decoder changes while it works, behind a pointer as in `EncoderState`.
struct DecoderState: ~Copyable {
    var frame: DecoderFrame
    var depth = 0
    var serials = 1
    var objectCount = 0
    var bodies = BodyTable()
    /// 0: not begun, 1: being made, 2: failed, else the address of the object, which is retained.
    var slots: ZeroedMemory<UInt>
    /// The shapes, which the decoder retains, without the cost of an array.
    var shapes: UnsafeMutablePointer<ShapeEntry>
    var shapeCount: Int
    var readers = MetatypeCache()
    var notes = DecoderNotes()
    /// The archive has neither objects nor shapes and owns no memory: nothing is noted about them while it is read.
    var isPlain = false

    /// A number that no frame has had.
    @inline(__always)
    mutating func nextSerial() -> Int {
        serials &+= 1
        return serials
    }
}

/// A shape with the class found for it last.
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

enum SlotState {
    static let empty: UInt = 0
    static let building: UInt = 1
    static let failed: UInt = 2
}
