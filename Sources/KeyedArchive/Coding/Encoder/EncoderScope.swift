/// An open value, record or list, and how far it has been written.
struct EncoderScope {
    enum Layout: UInt8 {
        /// Nothing may be written by key: outside of any object.
        case closed
        /// A value whose type has not asked for a container yet.
        case unopened
        /// A record; its keys are those predicted (`keys`) or collected in `extras`.
        case keyed
        /// A record with its keys inline.
        case explicit
        case list
        /// A value written without container.
        case single
    }

    /// A placeholder for the keys of a record without predicted keys; its count is zero, so it is never read.
    @inline(__always)
    static var noKeys: UnsafePointer<String> { UnsafePointer(bitPattern: 16).unsafelyUnwrapped }

    private(set) var keys: UnsafePointer<String> = Self.noKeys
    private var keyCount = 0
    /// Keys written as predicted; in lists and explicit records the values written.
    private(set) var cursor = 0
    /// Where the shape number or the padded count is.
    private(set) var start = 0
    private(set) var variant: TypeRecord.Variant?
    private(set) var record: Unmanaged<TypeRecord>?
    /// Retained by hand until the scope closes: scopes are copied often, and should not count references.
    private(set) var extras: Unmanaged<ScopeExtras>?
    let type: Any.Type
    private(set) var serial: Int
    private(set) var layout: Layout
    /// Whether the scope is the whole body of an object, which has no tag in front.
    let isBody: Bool
    /// Whether the code of a `Codable` type writes it: then the last value for a key counts.
    let isValue: Bool
    /// Whether the keys are just positions.
    private(set) var isSequential = false
    /// Values encoded without key so far.
    var unkeyed = 0

    /// A scope outside of any value.
    static var closed: EncoderScope { EncoderScope(of: NestedValue.self, serial: 0, .closed) }

    @inline(__always)
    init(of type: Any.Type, serial: Int, _ layout: Layout, isBody: Bool = false, isValue: Bool = false) {
        self.type = type
        self.serial = serial
        self.layout = layout
        self.isBody = isBody
        self.isValue = isValue
    }

    /// Whether the value's shape is that of an object or a record.
    var kind: Shape.Kind { isBody ? .object : .record }

    /// Whether the scope has nothing to clean up.
    @inline(__always)
    var isPristine: Bool { layout == .closed && extras == nil }

    // MARK: Keys

    /// Consumes a key if it is the predicted one; returns whether it is.
    @inline(__always)
    mutating func takeKey(_ key: String) -> Bool {
        guard isPredicted(key) else { return false }
        cursor &+= 1
        return true
    }

    /// Whether a key is the predicted one.
    @inline(__always)
    func isPredicted(_ key: @autoclosure () -> String) -> Bool { cursor < keyCount && keys[cursor] == key() }

    /// Takes back the last key or the last element, whose value could not be written.
    mutating func retreat() {
        if let extras = extras?.takeUnretainedValue(), extras.keys != nil { extras.removeLastKey() }
        if layout != .keyed || extras?.takeUnretainedValue().keys == nil { cursor &-= 1 }
    }

    /// Counts a value written, or a key that was predicted.
    @inline(__always)
    mutating func advance() { cursor &+= 1 }

    /// How many keys were written so far.
    var writtenKeyCount: Int { extras?.takeUnretainedValue().keys?.count ?? (layout == .keyed ? cursor : 0) }

    /// The keys written so far; none if they are just positions.
    var writtenKeys: [String] {
        if let collected = extras?.takeUnretainedValue().keys { return collected }
        return layout == .explicit ? [] : Array(UnsafeBufferPointer(start: keys, count: cursor))
    }

    /// Switches to collecting keys, because they differ from the predicted ones.
    @inline(__always)
    mutating func collectKeys() -> ScopeExtras {
        let extras = madeExtras()
        if extras.keys == nil {
            extras.keys = writtenKeys
            keyCount = 0
        }
        return extras
    }

    /// Collects a key that is written inline.
    mutating func collectInlineKey(_ key: String) {
        let extras = madeExtras()
        if extras.keys == nil { extras.keys = [] }
        extras.keys?.append(key)
    }

    /// The scope's extras, made on first use.
    @inline(__always)
    mutating func madeExtras() -> ScopeExtras {
        if let extras { return extras.takeUnretainedValue() }
        let made = ScopeExtras()
        extras = Unmanaged.passRetained(made)
        return made
    }

    // MARK: Opening and closing

    /// Begins a record whose shape number is at `start`.
    @inline(__always)
    mutating func open(_ record: Unmanaged<TypeRecord>, at start: Int) {
        self.record = record
        layout = .keyed
        self.start = start
    }

    /// Begins the next body of a run of objects of one class, if the last one was as predicted.
    ///
    /// Then only its place is new: type, record and shape are known.
    ///
    /// - Returns: The number of the shape, to be written at `start`; nil if nothing was done.
    @inline(__always)
    mutating func reopenBody(of type: Any.Type, serial: Int, at start: Int) -> UInt16? {
        guard isBody, isAsPredicted, let variant, self.type == type else { return nil }
        self.serial = serial
        self.start = start
        cursor = 0
        unkeyed = 0
        return variant.local
    }

    /// Predicts a shape's keys.
    @inline(__always)
    mutating func predict(_ variant: TypeRecord.Variant) {
        keys = variant.keys
        keyCount = variant.keyCount
    }

    /// Notes that the record begins with a shape's number.
    @inline(__always)
    mutating func settle(_ variant: TypeRecord.Variant) { self.variant = variant }

    /// Continues after all but some values were removed, of which each has a key of its own.
    mutating func keep(_ keys: [String]) {
        madeExtras().keys = keys
        if layout == .explicit { cursor = keys.count }
    }

    /// Continues with inline keys, or with elements; the padded count is at `start`.
    mutating func openCounted(_ layout: Layout, at start: Int) {
        self.layout = layout
        self.start = start
    }

    /// Begins a value without container.
    mutating func openSingle() { layout = .single }

    /// Takes back the value without container, which could not be written.
    mutating func reopen() { layout = .unopened }

    /// Closes the scope: nothing more is written by key.
    mutating func close() { layout = .closed }

    /// Uses positions as keys.
    mutating func openSequential(_ record: Unmanaged<TypeRecord>, _ variant: TypeRecord.Variant) {
        self.record = record
        self.variant = variant
        isSequential = true
    }

    /// Whether the record has the predicted keys in their order, and begins with their shape's number.
    @inline(__always)
    var isAsPredicted: Bool { layout == .keyed && extras == nil && variant != nil && cursor == keyCount }

    /// The shape that was predicted, if the record has all its keys in their order.
    var settledAsPredicted: TypeRecord.Variant? {
        guard extras == nil, cursor == keyCount, let predicted = record?.takeUnretainedValue().predicted,
            predicted.keys == keys
        else { return nil }
        return predicted
    }

    /// Frees what belongs to the scope.
    @inline(__always)
    mutating func dispose() {
        extras?.release()
        extras = nil
    }
}

/// State that only a few scopes need.
final class ScopeExtras {
    /// The keys written, once they differ from those predicted, and if they are written inline.
    // A coder is used by one thread at a time: no two accesses overlap.
    @exclusivity(unchecked) var keys: [String]?
    /// Nested containers and super encoders; they may be written to at any time until the scope closes.
    var deferred: [DeferredEntry] = []

    func removeLastKey() { keys?.removeLast() }
}

/// A nested container or super encoder, or list elements behind one.
struct DeferredEntry {
    /// The key in its stored form; nil for elements.
    let key: String?
    /// How many keys were written before.
    let keysBefore: Int
    /// Whether it is a container, which a type gets again if it asks for it once more.
    let isContainer: Bool
    let value: DeferredValue
}

/// A value written apart from its surroundings, to be put in place when the scope around it closes.
final class DeferredValue: DetachedPlace {
    /// What is written; while it is in use, the output that it took the place of.
    var out = ByteSink(capacity: 64)
    var scope: EncoderScope
    /// Whether these are list elements in a row instead of one value.
    let elements: Bool
    var use = Use.idle

    enum Use {
        case idle
        /// Something in it is being written.
        case writing
        /// The value around it is complete.
        case placed
    }

    init(
        scope: EncoderScope, elements: Bool = false, at step: ArchiveError.Step? = nil, of outerSerial: Int,
        _ outer: DeferredValue? = nil
    ) {
        self.scope = scope
        self.elements = elements
        super.init(serial: scope.serial, step: step, outerSerial: outerSerial, outer: outer)
    }

    deinit {
        scope.dispose()
        out.deallocate()
    }
}

/// The type of scopes that have no type of the user.
enum NestedValue {}
enum RootKeys {}
