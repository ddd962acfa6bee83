/// Writes objects and values into a compact archive; the coder in a class's `encode(with:)`.
///
/// An object gets the next number when it is first encoded, and its body is queued: no graph is too deep to write. Not
/// for use by several threads at once.
public final class ObjectEncoder {
    /// The storage of all state that changes while writing.
    ///
    /// As class properties, it would be checked for exclusive access at each use.
    let storage: UnsafeMutablePointer<EncoderState>
    private(set) var limits: ArchiveLimits
    let classes: ClassRegistry
    /// Asked about each object that is encoded.
    weak var delegate: (any KeyedArchiverDelegate)?
    var hasDelegate = false
    /// Whether objects by reference may be written.
    package var allowsExternals = false
    /// Whether `AsObject` and `AsMutable` leave a mark, which only the writer of Apple's format reads.
    package var marksForms = false
    /// The object that uses the encoder, such as a connection; the coding code of values finds it here.
    // A coder is used by one thread at a time: no two accesses overlap.
    @exclusivity(unchecked) package var codingOwner: AnyObject?

    /// Whether `owner` is the `codingOwner`; cheaper than reading that from another module.
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

    /// What the caller of the archive's writer gives to `Codable` types.
    var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    /// Whether objects are encoded one value after the other, without keys.
    var isSequential = false

    /// Whether values have keys.
    ///
    /// False only in the archives of a `SequentialArchiver`: there objects encode values without key, in order.
    public var allowsKeyedCoding: Bool { !isSequential }

    /// Discards everything written, releases all objects, and keeps buffers of moderate size for the next use.
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

    /// Writes a key of an object that encodes itself.
    @inline(__always)
    func objectKey(_ key: String) throws {
        if scope.isValue { throw besideValue(key) }
        try self.key(key)
    }

    @inline(never)
    private func besideValue(_ key: String) -> ArchiveError {
        fail(ArchiveError(.misuse, "an object wrote the key \(key) while one of its values was written"))
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

    /// Writes a key in its stored form, if it is not the predicted one.
    func append(key: String) throws {
        switch scope.layout {
        case .keyed:
            scope.collectKeys().keys?.append(key)
        case .explicit:
            if !scope.isSequential { scope.collectInlineKey(key) }
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

    /// Records a failure: the archive contains a half-written value and cannot be finished.
    @inline(never)
    func fail(_ error: any Error, at step: ArchiveError.Step? = nil) -> ArchiveError {
        let error = ArchiveError.wrapping(error, at: step)
        // A forbidden use of a container stays the reason, whatever follows from it.
        if state.failure?.code != .misuse { state.failure = error }
        return error
    }
}
