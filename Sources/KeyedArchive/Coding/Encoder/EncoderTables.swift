/// What an archive has in addition to plain values: objects, shapes, large data and references.
///
/// Most messages have none of these, and little to reset afterwards.
struct EncoderTables: ~Copyable {
    var identity = IdentityTable()
    var objects = ObjectQueue<QueuedKind>()
    /// The lengths of the bodies.
    var lengths = ByteSink(capacity: 64)
    var shapes: [Shape] = []
    /// Large data, which stays in place.
    var blobs: [Blob] = []
    var blobBytes = 0
    var conditionals: [(position: Int, object: AnyObject)] = []
    /// Objects that were replaced: they must live as long as their address is in the table.
    var replaced: [AnyObject] = []
    private(set) var externals: [AnyObject] = []
    /// The places of the externals after the first few.
    private var externalIndexes: [ObjectIdentifier: Int] = [:]

    /// Up to this count, externals are searched linearly: most messages have no more and need no dictionary.
    private static let fewExternals = 8

    /// Whether nothing is in the tables but a few objects by reference, and their memory is worth keeping.
    @inline(__always)
    var isPristine: Bool {
        objects.capacity < 8 && shapes.isEmpty && externals.count <= Self.fewExternals && conditionals.isEmpty
            && replaced.isEmpty && blobBytes == 0 && lengths.count == 0 && lengths.isSmall && identity.isUnused
    }

    /// Forgets the objects by reference, which are all there is in pristine tables.
    @inline(__always)
    mutating func removeExternals() {
        if !externals.isEmpty { externals.removeAll(keepingCapacity: true) }
    }

    /// Forgets everything, and keeps memory of moderate size.
    ///
    /// Memory that the last archive used is kept for the next, up to a bound; memory it hardly used is freed.
    mutating func removeAll() {
        lengths.reset(most: 256 << 10)
        identity.removeAll(most: 128 << 10)
        objects.removeAll()
        shapes.removeAll(keepingCapacity: true)
        takeBlobs()
        if !conditionals.isEmpty { conditionals = [] }
        if !replaced.isEmpty { replaced = [] }
        if !externals.isEmpty {
            externals.removeAll(keepingCapacity: externals.count <= Self.fewExternals)
            if !externalIndexes.isEmpty { externalIndexes = [:] }
        }
    }

    /// Forgets the large data.
    mutating func takeBlobs() {
        guard blobBytes > 0 else { return }
        blobs = []
        blobBytes = 0
    }

    /// Adds large data.
    mutating func append(_ blob: Blob) {
        blobs.append(blob)
        blobBytes += blob.bytes.count
    }

    /// The place of an object by reference; nil if it has none yet.
    func place(ofExternal object: AnyObject) -> Int? {
        if let index = externals.prefix(Self.fewExternals).firstIndex(where: { $0 === object }) { return index }
        return externalIndexes.isEmpty ? nil : externalIndexes[ObjectIdentifier(object)]
    }

    /// Removes the objects by reference that were added last; `count` remain.
    mutating func removeExternals(downTo count: Int) {
        while externals.count > count {
            let object = externals.removeLast()
            if externals.count >= Self.fewExternals { externalIndexes[ObjectIdentifier(object)] = nil }
        }
    }

    /// Removes the large data behind a position.
    mutating func removeBlobs(behind position: Int) {
        while let last = blobs.last, last.position > position {
            blobBytes -= last.bytes.count
            blobs.removeLast()
        }
    }

    /// Takes the large data behind a position out of the table.
    mutating func takeBlobs(behind position: Int) -> [Blob] {
        let taken = blobs.filter { $0.position > position }
        removeBlobs(behind: position)
        return taken
    }

    /// Adds an object by reference; returns its place.
    mutating func append(external object: AnyObject) -> Int {
        let index = externals.count
        externals.append(object)
        if index >= Self.fewExternals { externalIndexes[ObjectIdentifier(object)] = index }
        return index
    }

    /// Takes over the tables of an archive that was read.
    mutating func load(_ externals: [AnyObject], _ shapes: [Shape]) {
        self.externals = externals
        self.shapes = shapes
    }

    func deallocate() {
        lengths.deallocate()
        identity.deallocate()
    }
}

/// How objects are written, with the type that they were encoded as.
///
/// Each may be of a subclass.
enum QueuedKind {
    case coding(any ObjectCoding.Type)
    case plain(any (AnyObject & Encodable).Type)
}
