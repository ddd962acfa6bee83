/// Writes objects and values into a compact archive; what a class sees in `encode(with:)`.
///
/// An object encoded for the first time gets the next number, and its body is queued, so
/// that no graph is too deep to write. Not for use by several threads at once.
public final class ObjectEncoder {
    /// The storage of everything that changes while objects are written: class properties would be checked for
    /// exclusive access at each use.
    let storage: UnsafeMutablePointer<EncoderState>
    private(set) var limits: ArchiveLimits
    let classes: ClassRegistry
    /// Asked about each object on its way, if set.
    weak var delegate: (any KeyedArchiverDelegate)?
    var hasDelegate = false
    /// Whether objects by reference may be written.
    package var allowsExternals = false
    /// Whether `AsObject` and `AsMutable` leave a mark, which only the writer of Apple's format reads.
    package var marksForms = false
    /// The object that drives the encoder, for the coding code of values to find.
    // A coder is used by one thread at a time: no two accesses overlap.
    @exclusivity(unchecked) package var codingOwner: AnyObject?

    /// Whether `owner` drives it; cheaper than `codingOwner` from another module.
    package func isDriven(by owner: AnyObject) -> Bool { codingOwner === owner }

    /// Makes an encoder without content.
    package init(limits: ArchiveLimits = ArchiveLimits(), classes: ClassRegistry = ClassRegistry()) {
        self.limits = limits
        self.classes = classes
        storage = .allocate(capacity: 1)
        storage.initialize(to: EncoderState(limits: limits))
    }

    /// Gives an encoder without content other bounds.
    package func configure(limits: ArchiveLimits) {
        self.limits = limits
        state.setLimits(limits)
    }

    deinit {
        scope.dispose()
        state.deallocate()
        storage.deinitialize(count: 1)
        storage.deallocate()
    }

    /// Everything that changes while objects are written, in place.
    @inline(__always)
    var state: EncoderState {
        unsafeAddress { UnsafePointer(storage) }
        unsafeMutableAddress { storage }
    }

    /// The object, record, list or value that is open.
    @inline(__always)
    var scope: EncoderScope {
        _read { yield storage.pointee.scope }
        _modify { yield &storage.pointee.scope }
    }

    /// What the archive has in addition to plain values.
    @inline(__always)
    var tables: EncoderTables {
        _read { yield storage.pointee.tables }
        _modify { yield &storage.pointee.tables }
    }

    /// Where the next byte is written.
    @inline(__always)
    var output: ByteSink {
        _read { yield storage.pointee.out }
        _modify { yield &storage.pointee.out }
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
        guard state.isPristine else { return resetAll() }
        state.removeValues()
        tables.removeExternals()
    }

    private func resetAll() {
        state.reset()
        tables.removeAll()
        replaceScope(.closed)
        state.failure = nil
    }

    // MARK: Keys

    @inline(__always)
    func key(_ key: String) throws {
        if scope.takeKey(key) { return }
        try otherKey(key)
    }

    @inline(never)
    private func otherKey(_ userKey: String) throws {
        let key = StoredKey.escaped(userKey)
        if key.utf8.count != userKey.utf8.count, scope.takeKey(key) { return }
        guard !scope.isSequential else {
            throw fail(ArchiveError(.misuse, "the key \(userKey) in a sequential archive, which has none"))
        }
        try append(key: key)
    }

    /// Writes a key as it stands in archives, which is not the one predicted.
    func append(key: String) throws {
        switch scope.layout {
        case .keyed:
            let extras = scope.collectKeys()
            guard extras.keys?.count ?? 0 < limits.keys else {
                throw fail(ArchiveError(.limit, "more than \(limits.keys) keys in one value"))
            }
            extras.keys?.append(key)
        case .explicit:
            scope.advance()
            output.string(key)
        default:
            guard !state.isFinished else {
                throw ArchiveError(.misuse, "the archive is finished, so the key \(key) has no place in it")
            }
            throw fail(ArchiveError(.misuse, "no object is being encoded, so the key \(key) has no place"))
        }
    }

    /// Replaces the current scope, and frees what belonged to it.
    @inline(__always)
    func replaceScope(_ other: EncoderScope) {
        scope.dispose()
        scope = other
    }

    // MARK: Failure

    /// Notes that the archive cannot be finished: what was half written stays in it.
    @inline(never)
    func fail(_ error: any Error, at step: ArchiveError.Step? = nil) -> ArchiveError {
        let error = ArchiveError.wrapping(error, at: step)
        state.failure = error
        return error
    }
}
