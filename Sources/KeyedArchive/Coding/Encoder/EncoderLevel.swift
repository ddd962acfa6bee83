/// Where a scope was while something in it was written.
struct EncoderLevel: CodingLevel {
    private(set) var serial: Int
    private var keys: UnsafePointer<String>
    private var cursor: Int
    private var extras: Unmanaged<ScopeExtras>?
    private var layout: EncoderScope.Layout
    /// The index of the element of a list that is written without scope; -1 if there is none, and less in a dictionary.
    var element: Int
    /// In a dictionary, where the key of the element is in the output; -1 until it is written.
    private var key: Int
    /// The output that has the key, by how many deferred values are around it.
    private var deferredDepth: Int

    /// Notes where a scope is, before something in it is written.
    @inline(__always)
    mutating func note(_ scope: EncoderScope) {
        serial = scope.serial
        keys = scope.keys
        cursor = scope.cursor
        extras = scope.extras
        layout = scope.layout
        element = -1
    }

    /// Notes the element of a dictionary that is written next.
    @inline(__always)
    mutating func note(entry index: Int, key: Int, deferredDepth: Int) {
        element = -2 - index
        self.key = key
        self.deferredDepth = deferredDepth
    }

    /// The index of the entry of a dictionary, where its key is, and in which output.
    var entry: (index: Int, key: Int, deferredDepth: Int)? { element < -1 ? (-2 - element, key, deferredDepth) : nil }

    var step: ArchiveError.Step? {
        // The archive's own record has the serial number 0. Its keys are not part of coding paths.
        guard serial != 0 else { return nil }
        switch layout {
        case .keyed, .explicit:
            let collected = extras?.takeUnretainedValue().keys
            // Without keys, the values are encoded in order.
            if collected == nil, layout == .explicit { return cursor > 0 ? .index(cursor - 1) : nil }
            guard let key = collected.map(\.last) ?? (cursor > 0 ? keys[cursor - 1] : nil) else { return nil }
            return StoredKey.position(key).map { .index($0) } ?? .key(StoredKey.unescaped(key))
        case .list: return .index(cursor - 1)
        case .closed, .unopened, .single: return nil
        }
    }
}
