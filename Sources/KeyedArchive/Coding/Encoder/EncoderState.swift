/// One open value, record or list while it is written.
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

    /// Stands for the keys of a record for which none are predicted.
    ///
    /// No memory: it is never read, as there is always a count of zero beside it.
    @inline(__always)
    static var noKeys: UnsafePointer<String> { UnsafePointer(bitPattern: 16).unsafelyUnwrapped }

    var keys: UnsafePointer<String> = Self.noKeys
    var keyCount = 0
    /// Keys written as predicted; in lists and explicit records the values written.
    var cursor = 0
    /// Where the shape number stands, or the padded count.
    var start = 0
    var variant: UnsafeMutablePointer<TypeRecord.Variant>?
    var record: Unmanaged<TypeRecord>?
    /// Retained until the scope is closed or given up.
    ///
    /// Not counted: scopes are copied all the time.
    var extras: Unmanaged<ScopeExtras>?
    var type: Any.Type
    var serial: Int
    var layout: Layout
    /// Whether the scope is the whole body of an object, which has no tag in front.
    var isBody: Bool
    /// Whether values have no keys but their positions.
    var isSequential = false
    /// Values encoded without key so far.
    var unkeyed = 0
}

/// What only few scopes need.
final class ScopeExtras {
    /// The keys written, once they differ from those predicted.
    var keys: [String]?
    /// Nested containers and super encoders; they may be written to at any time until the scope closes.
    var deferred: [(key: String?, value: DeferredValue)] = []
}

/// A value written apart from its surroundings, to be put in place when the scope around it closes.
final class DeferredValue {
    var out = ByteSink(capacity: 64)
    var scope: EncoderScope
    /// Whether these are list elements in a row instead of one value.
    let elements: Bool

    init(scope: EncoderScope, elements: Bool = false) {
        self.scope = scope
        self.elements = elements
    }

    deinit {
        scope.extras?.release()
        out.deallocate()
    }
}

/// An object with its number, waiting for its body to be written.
enum QueuedObject {
    case coding(any ObjectCoding)
    case plain(any AnyObject & Encodable)
}

/// Types that name scopes without a type of the user.
enum NestedValue {}
enum RootKeys {}

/// Everything an encoder changes while it works.
///
/// It lives behind a pointer: class properties would be checked for
/// exclusive access at each use.
struct EncoderState {
    var out = ByteSink(capacity: 512)
    var scope = EncoderScope(type: NestedValue.self, serial: 0, layout: .closed, isBody: false)
    var lengths = ByteSink(capacity: 64)
    var header = ByteSink(capacity: 32)
    var identity = IdentityTable()
    var objects = ContiguousArray<QueuedObject>()
    var nextBody = 0
    var objectLimit: Int
    var depth = 0
    var serials = 1
    var deferredDepth = 0
    var epoch: UInt32 = 1
    var lastType: ObjectIdentifier?
    var lastRecord: Unmanaged<TypeRecord>?
    var lastPlainClass: ObjectIdentifier?
    var writers = MetatypeCache()
    var records: [ObjectIdentifier: TypeRecord] = [:]
    var shapes: [Shape] = []
    var blobs: [Blob] = []
    var blobBytes = 0
    var conditionals: [(position: Int, object: AnyObject)] = []
    /// Objects that were replaced: they must live as long as their address is in the table.
    var replaced: [AnyObject] = []
    var externals: [AnyObject] = []
    /// Where those after the first few are.
    var externalIndexes: [ObjectIdentifier: Int] = [:]
    /// As many are searched one by one: most messages have no more, and need no dictionary.
    static let fewExternals = 8
    var failure: ArchiveError?
    var isFinished = false
    var valuesEnd = 0

    init(limits: ArchiveLimits) {
        objectLimit = Self.objectLimit(limits)
    }

    func place(ofExternal object: AnyObject) -> Int? {
        if let index = externals.prefix(Self.fewExternals).firstIndex(where: { $0 === object }) { return index }
        return externalIndexes.isEmpty ? nil : externalIndexes[ObjectIdentifier(object)]
    }

    mutating func setLimits(_ limits: ArchiveLimits) {
        objectLimit = Self.objectLimit(limits)
    }

    private static func objectLimit(_ limits: ArchiveLimits) -> Int {
        min(max(limits.objects, 0), Int(UInt32.max) - 1)
    }
}
