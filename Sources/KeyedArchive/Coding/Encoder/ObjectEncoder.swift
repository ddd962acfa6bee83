/// Writes objects and values into a compact archive; what a class sees in `encode(with:)`.
///
/// Objects are met, not entered: an object met for the first time gets the next number and its body waits its turn, so
/// that no graph is too deep to write. Not for use by several threads at once.
public final class ObjectEncoder {
    let state: UnsafeMutablePointer<EncoderState>
    private(set) var limits: ArchiveLimits
    let classes: ClassRegistry
    /// Asked about each object on its way, if set.
    weak var delegate: (any KeyedArchiverDelegate)?
    var hasDelegate = false
    /// Whether objects by reference may be written.
    package var allowsExternals = false
    /// Whether `AsObject` and `AsMutable` leave a mark, which only the writer of Apple's format reads.
    package var marksForms = false
    /// A slot for whoever drives the encoder; the values' own coding code finds it.
    // A coder is used by one thread at a time: no two accesses overlap.
    @exclusivity(unchecked) package var codingOwner: AnyObject?

    /// Whether that is who drives it, asked more cheaply than by `codingOwner` from another module.
    package func isDriven(by owner: AnyObject) -> Bool { codingOwner === owner }

    /// Makes an encoder without content.
    package init(limits: ArchiveLimits = ArchiveLimits(), classes: ClassRegistry = ClassRegistry()) {
        self.limits = limits
        self.classes = classes
        state = .allocate(capacity: 1)
        state.initialize(to: EncoderState(limits: limits))
    }

    /// Gives an encoder without content other bounds.
    package func configure(limits: ArchiveLimits) {
        self.limits = limits
        state.pointee.setLimits(limits)
    }

    deinit {
        state.pointee.scope.extras?.release()
        state.pointee.out.deallocate()
        state.pointee.lengths.deallocate()
        state.pointee.header.deallocate()
        state.pointee.identity.deallocate()
        state.pointee.writers.deallocate()
        state.deinitialize(count: 1)
        state.deallocate()
    }

    /// Whether objects are encoded one value after the other, without keys.
    var isSequential = false

    /// Whether values have keys.
    ///
    /// False only in the archives of a `SequentialArchiver`: there objects encode values without key, in order.
    public var allowsKeyedCoding: Bool { !isSequential }

    /// Forgets everything written, and keeps buffers of moderate size for the next use.
    ///
    /// All objects are released.
    package func reset() {
        guard isPlain else { return resetAll() }
        state.pointee.out.count = 0
        state.pointee.header.count = 0
        state.pointee.isFinished = false
        if !state.pointee.externals.isEmpty { state.pointee.externals.removeAll(keepingCapacity: true) }
    }

    /// Whether nothing but a few values was written, so that little has to be forgotten: most messages are like that.
    private var isPlain: Bool {
        // Field by field: the state as a whole would be copied.
        let s = state
        return s.pointee.objects.capacity < 8 && s.pointee.shapes.isEmpty
            && s.pointee.externals.count <= EncoderState.fewExternals
            && s.pointee.conditionals.isEmpty && s.pointee.replaced.isEmpty && s.pointee.blobBytes == 0
            && s.pointee.out.isSmall && s.pointee.lengths.count == 0 && s.pointee.lengths.isSmall
            && s.pointee.identity.isUnused && s.pointee.scope.layout == .closed && s.pointee.scope.extras == nil
            && s.pointee.depth == 0 && s.pointee.deferredDepth == 0 && s.pointee.failure == nil
    }

    private func resetAll() {
        let s = state
        // What the last archive used is kept for the next, up to a bound; what it hardly used is given back.
        s.pointee.out.reset(most: 1 << 20)
        s.pointee.lengths.reset(most: 256 << 10)
        s.pointee.header.reset(most: 1 << 10)
        s.pointee.identity.removeAll(most: 128 << 10)
        let objects = s.pointee.objects.count
        s.pointee.objects.removeAll(keepingCapacity: objects <= 64 << 10 && objects >= s.pointee.objects.capacity / 8)
        s.pointee.nextBody = 0
        replaceScope(EncoderScope(type: NestedValue.self, serial: 0, layout: .closed, isBody: false))
        s.pointee.depth = 0
        s.pointee.deferredDepth = 0
        s.pointee.epoch &+= 1
        s.pointee.shapes.removeAll(keepingCapacity: true)
        s.pointee.failure = nil
        s.pointee.isFinished = false
        if s.pointee.blobBytes > 0 {
            s.pointee.blobs = []
            s.pointee.blobBytes = 0
        }
        if !s.pointee.conditionals.isEmpty { s.pointee.conditionals = [] }
        if !s.pointee.replaced.isEmpty { s.pointee.replaced = [] }
        if !s.pointee.externals.isEmpty {
            s.pointee.externals.removeAll(keepingCapacity: s.pointee.externals.count <= EncoderState.fewExternals)
            if !s.pointee.externalIndexes.isEmpty { s.pointee.externalIndexes = [:] }
        }
        if s.pointee.epoch == 0 {
            // After four billion archives the stamps of shapes would come round again.
            s.pointee.epoch = 1
            s.pointee.records = [:]
            s.pointee.lastType = nil
            s.pointee.lastRecord = nil
        }
    }

    // MARK: Keys

    @inline(__always)
    func key(_ key: String) throws {
        let s = state
        if s.pointee.scope.cursor < s.pointee.scope.keyCount
            && s.pointee.scope.keys[s.pointee.scope.cursor] == key
        {
            s.pointee.scope.cursor &+= 1
            return
        }
        try otherKey(key)
    }

    @inline(never)
    private func otherKey(_ userKey: String) throws {
        let s = state
        let key = StoredKey.escaped(userKey)
        if key.utf8.count != userKey.utf8.count, s.pointee.scope.cursor < s.pointee.scope.keyCount,
            s.pointee.scope.keys[s.pointee.scope.cursor] == key
        {
            s.pointee.scope.cursor &+= 1
            return
        }
        guard !s.pointee.scope.isSequential else {
            throw fail(ArchiveError(.misuse, "the key \(userKey) in a sequential archive, which has none"))
        }
        try append(key: key)
    }

    /// Writes a key as it stands in archives, which is not the one predicted.
    func append(key: String) throws {
        let s = state
        switch s.pointee.scope.layout {
        case .keyed:
            let extras = scopeExtras()
            if extras.keys == nil {
                extras.keys = Array(
                    UnsafeBufferPointer(start: s.pointee.scope.keys, count: s.pointee.scope.cursor))
                s.pointee.scope.keyCount = 0
            }
            guard extras.keys?.count ?? 0 < limits.keys else {
                throw fail(ArchiveError(.limit, "more than \(limits.keys) keys in one value"))
            }
            extras.keys?.append(key)
        case .explicit:
            s.pointee.scope.cursor += 1
            s.pointee.out.string(key)
        default:
            guard !s.pointee.isFinished else {
                throw ArchiveError(.misuse, "the archive is finished, so the key \(key) has no place in it")
            }
            throw fail(ArchiveError(.misuse, "no object is being encoded, so the key \(key) has no place"))
        }
    }

    func scopeExtras() -> ScopeExtras {
        if let extras = state.pointee.scope.extras { return extras.takeUnretainedValue() }
        let extras = ScopeExtras()
        state.pointee.scope.extras = Unmanaged.passRetained(extras)
        return extras
    }

    /// Replaces the current scope, and frees what belonged to it.
    @inline(__always)
    func replaceScope(_ scope: EncoderScope) {
        state.pointee.scope.extras?.release()
        state.pointee.scope = scope
    }

    // MARK: Failure

    /// Notes that the archive cannot be finished: what was half written stays in it.
    @inline(never)
    func fail(_ error: any Error, at step: ArchiveError.Step? = nil) -> ArchiveError {
        let error = ArchiveError.wrapping(error, at: step)
        state.pointee.failure = error
        return error
    }
}
