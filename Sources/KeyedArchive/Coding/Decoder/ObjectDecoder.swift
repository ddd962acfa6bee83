/// Reads objects and values from a compact archive; the coder in a class's `init(coder:)`.
///
/// Nothing in the bytes is trusted: counts are checked against the bytes present, and classes against what the reading
/// code expects. Every problem is a thrown `ArchiveError` with the path to it. Not for use by several threads at once.
public final class ObjectDecoder {
    /// The storage of all state that changes while reading.
    ///
    /// As class properties, it would be checked for exclusive access at each use.
    let storage: UnsafeMutablePointer<DecoderState>
    private(set) var limits: ArchiveLimits
    let classes: ClassRegistry
    private(set) var shapes: [Shape] = []
    private(set) var externals: [AnyObject] = []
    /// Keeps the bytes alive.
    private(set) var owner: AnyObject?
    /// Whether large `Data` values are slices of the bytes.
    var handsOutSlices = false
    /// Set for archives in Apple's layout: their forms of values are accepted, too.
    var foreign: ForeignArchive?
    weak var delegate: (any KeyedUnarchiverDelegate)?
    var hasDelegate = false
    /// The object that uses the decoder, such as a connection; the coding code of values finds it here.
    // A coder is used by one thread at a time: no two accesses overlap.
    @exclusivity(unchecked) package var codingOwner: AnyObject?

    /// Whether `owner` is the `codingOwner`; cheaper than reading that from another module.
    package func isDriven(by owner: AnyObject) -> Bool { codingOwner === owner }

    /// What a body needs in addition if it was converted from Apple's layout.
    struct ForeignArchive {
        /// Where large data is stored.
        let outside: UnsafeRawBufferPointer
        let owner: AnyObject?
        /// Names of classes to use for unknown ones, by shape, best first.
        let hints: [Int: [String]]
    }

    /// The depth of nested objects at which `makeFromBelow` takes over.
    static let deepObjects = 16

    /// How deep values may be nested in objects in values, and objects in objects whose classes are not known yet.
    ///
    /// A level takes up to 6 KiB of stack in a debug build, 2 KiB in a release build; a thread may have only 512 KiB. So deep
    /// ones continue on another stack; see `StackSegment`.
    var deepest: Int { Self.deepObjects + limits.depth + 4 }

    /// The objects and shapes for which an unloaded decoder has room: enough for most messages.
    private static let smallCount = 16

    /// Whether the archive has so many objects that freeing them takes longer than a system call.
    package var hasManyObjects: Bool { state.objectCount > 64 }

    /// Makes a decoder that has nothing to read until `load`.
    package init(limits: ArchiveLimits = ArchiveLimits(), classes: ClassRegistry = ClassRegistry()) {
        self.limits = limits
        self.classes = classes
        storage = .allocate(capacity: 1)
        storage.initialize(
            to: DecoderState(
                frame: Self.closedFrame, slots: ZeroedMemory(Self.smallCount),
                shapes: .allocate(capacity: Self.smallCount), shapeCount: 0))
    }

    /// Gives an unloaded decoder other bounds.
    package func configure(limits: ArchiveLimits) {
        self.limits = limits
        state.levels.forgetRoom()
    }

    /// Makes a decoder that reads one archive; see `load`.
    package convenience init(
        bytes: UnsafeRawBufferPointer, owner: AnyObject?, shapes: [Shape], externals: [AnyObject] = [],
        limits: ArchiveLimits = ArchiveLimits(), classes: ClassRegistry = ClassRegistry(), handsOutSlices: Bool = true
    ) throws {
        self.init(limits: limits, classes: classes)
        try load(
            bytes: bytes, owner: owner, shapes: shapes, externals: externals, handsOutSlices: handsOutSlices)
    }

    private static var closedFrame: DecoderFrame {
        DecoderFrame(closedAt: ByteSource(UnsafeRawBufferPointer(start: nil, count: 0)))
    }

    /// Reads the header of an archive's body.
    ///
    /// The decoder is new or unloaded.
    ///
    /// - Parameters:
    ///   - bytes: The body. It stays valid as long as `owner` lives, or until `unload` if there is none.
    ///   - owner: Retained by the decoder and by large `Data` values, which are slices of `bytes`.
    ///   - shapes: The shapes the body names by number.
    ///   - externals: The objects by reference.
    ///   - handsOutSlices: Whether large `Data` values may be slices of `bytes`. The memory must be writable and belong
    ///     to this archive alone, as a slice may be changed in place once the decoder is gone.
    package func load(
        bytes: UnsafeRawBufferPointer, owner: AnyObject?, shapes: [Shape], externals: [AnyObject],
        handsOutSlices: Bool
    ) throws {
        guard bytes.count <= limits.bytes else {
            throw ArchiveError(.limit, "an archive of more than \(limits.bytes) bytes")
        }
        guard shapes.count <= min(limits.shapes, 0xFFFF) else {
            throw ArchiveError(.limit, "more than \(limits.shapes) shapes")
        }
        var source = ByteSource(bytes)
        let bodies = try BodyTable(&source, limits: limits)
        load(
            source, of: bodies, owner: owner, shapes: shapes, externals: externals, handsOutSlices: handsOutSlices)
    }

    /// Reads values of an archive whose header is known.
    ///
    /// The decoder is new or unloaded.
    ///
    /// - Parameters:
    ///   - values: Where to read.
    ///   - bodies: The table of its objects, which the decoder deallocates unless it is borrowed.
    func load(
        _ values: ByteSource, of bodies: BodyTable, owner: AnyObject?, shapes: [Shape], externals: [AnyObject],
        handsOutSlices: Bool
    ) {
        let count = bodies.count
        state.bodies.deallocate()
        state.bodies = bodies
        if count > Self.smallCount {
            state.slots.deallocate()
            state.slots = ZeroedMemory(count)
        } else {
            state.slots.clear(count)
        }
        state.objectCount = count
        if shapes.count > Self.smallCount {
            state.shapes.deallocate()
            state.shapes = .allocate(capacity: shapes.count)
        }
        for index in 0..<shapes.count {
            (state.shapes + index).initialize(to: ShapeEntry(shapes[index]))
        }
        state.shapeCount = shapes.count
        frame = DecoderFrame(closedAt: values)
        if !shapes.isEmpty { self.shapes = shapes }
        if !externals.isEmpty { self.externals = externals }
        self.owner = owner
        self.handsOutSlices = handsOutSlices
        // No path has more references than there are other objects.
        if count - 1 > limits.chain { notes.heights = ZeroedMemory(count) }
    }

    /// Reads the header of an archive's body that has no shapes.
    ///
    /// - Parameter bytes: They stay valid until `unload`.
    package func load(bytes: UnsafeRawBufferPointer) throws {
        // No objects, and few enough bytes of values for a one-byte count.
        if bytes.count >= 2, bytes.count < 0x82, bytes[0] == 0, Int(bytes[1]) == bytes.count - 2,
            bytes.count <= limits.bytes
        {
            frame = DecoderFrame(closedAt: ByteSource(bytes, from: 2))
            state.isPlain = true
            return
        }
        try load(bytes: bytes, owner: nil, shapes: [], externals: [], handsOutSlices: false)
    }

    /// Like `load(bytes:)`, with objects by reference.
    package func load(bytes: UnsafeRawBufferPointer, externals: [AnyObject]) throws {
        try load(bytes: bytes)
        self.externals = externals
    }

    /// Releases the archive and everything made from it; `load` may be called again.
    ///
    /// Runs code of the classes read, in their `deinit`.
    package func unload() {
        let before = state.objectCount
        state.firstSerial = state.serials
        letGo()
        if state.isPlain, notes.list == nil, notes.lists.isEmpty, foreign == nil {
            frame = Self.closedFrame
            state.depth = 0
            state.isPlain = false
            if !externals.isEmpty { externals = [] }
            return
        }
        state.isPlain = false
        if before > Self.smallCount {
            state.slots.deallocate()
            state.slots = ZeroedMemory(Self.smallCount)
        }
        state.bodies.deallocate()
        state.bodies = BodyTable()
        if state.shapeCount > Self.smallCount {
            state.shapes.deallocate()
            state.shapes = .allocate(capacity: Self.smallCount)
        }
        state.shapeCount = 0
        frame = Self.closedFrame
        // A view that outlives its value stays invalid: serial numbers of frames are not reused.
        state.depth = 0
        if !notes.isPristine {
            notes.deallocate()
            notes = DecoderNotes()
        }
        if !shapes.isEmpty { shapes = [] }
        if !externals.isEmpty { externals = [] }
        owner = nil
        if foreign != nil { foreign = nil }
    }

    /// Releases the objects one by one; those used elsewhere survive.
    private func letGo() {
        frame.dispose()
        let count = state.objectCount
        state.objectCount = 0
        var index = 0
        while state.owned > 0, index < count {
            let slot = state.slots[index]
            index += 1
            guard slot.isOwner, let object = slot.object else { continue }
            state.owned -= 1
            object.release()
        }
        guard !notes.keepers.isEmpty else { return }
        // Taken out first: releasing them runs users' code.
        var keepers: [AnyObject] = []
        swap(&keepers, &notes.keepers)
    }

    deinit {
        letGo()
        state.slots.deallocate()
        state.shapes.deallocate()
        state.bodies.deallocate()
        notes.deallocate()
        state.levels.deallocate()
        state.readers.deallocate()
        storage.deinitialize(count: 1)
        storage.deallocate()
    }

    /// Everything that changes while objects are read, in place.
    @inline(__always)
    var state: DecoderState {
        unsafeAddress { UnsafePointer(storage) }
        unsafeMutableAddress { storage }
    }

    /// The object, record, list or value that is open.
    @inline(__always)
    var frame: DecoderFrame {
        _read { yield storage.pointee.frame }
        _modify { yield &storage.pointee.frame }
    }

    /// The records about objects and references.
    @inline(__always)
    var notes: DecoderNotes {
        _read { yield storage.pointee.notes }
        _modify { yield &storage.pointee.notes }
    }

    /// Where the next byte is read.
    @inline(__always)
    var input: ByteSource {
        _read { yield storage.pointee.frame.source }
        _modify { yield &storage.pointee.frame.source }
    }

    /// What the caller of the archive's reader gives to `Codable` types.
    var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    /// Whether objects are decoded one value after the other, without keys.
    var isSequential = false

    /// Whether values have keys.
    ///
    /// False only under a `SequentialUnarchiver`: there objects decode values without key, in order.
    public var allowsKeyedCoding: Bool { !isSequential }

    /// The class version that the object being read was written with.
    public var classVersion: Int { frame.shape?.takeUnretainedValue().version ?? 0 }

    /// The class name of the object being read, as stored in the archive.
    public var archivedClassName: String { frame.shape?.takeUnretainedValue().name ?? "" }

    /// Reads the next value that has no key.
    ///
    /// References that were requested meanwhile are complete when this returns.
    package func decodeTop<T>(_ codec: ValueCodec<T>) throws -> T {
        try complete { try codec.read(self) }
    }

    /// Reads the next value that has no key, with the reader of its type's codec.
    package func decodeTop<T>(_ type: T.Type, _ reader: Unmanaged<AnyValueCoder>) throws -> T {
        try reader._withUnsafeGuaranteedRef { reader in
            try complete { try unsafeDowncast(reader, to: ValueReader<T>.self).read(self) }
        }
    }

    /// Reads the next value that has no key, and looks up the codec of its type.
    package func decodeTop<T: Decodable>(_ type: T.Type) throws -> T {
        try complete { try read(type) }
    }
}
