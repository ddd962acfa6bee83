/// Everything an encoder changes while it works.
///
/// It lives behind a pointer: class properties would be checked for exclusive access at each use.
struct EncoderState: ~Copyable {
    var out = ByteSink(capacity: 512)
    var scope = EncoderScope.closed
    var header = ByteSink(capacity: 32)
    var tables = EncoderTables()
    private(set) var objectLimit: Int
    var depth = 0
    private var serials = 1
    /// How many deferred values the current value is inside of.
    var deferredDepth = 0
    /// The number of the current archive, which the shapes used in it carry.
    private(set) var epoch: UInt32 = 1
    var lastType: ObjectIdentifier?
    var lastRecord: Unmanaged<TypeRecord>?
    /// A class whose objects never travel by reference.
    var lastPlainClass: ObjectIdentifier?
    var writers = MetatypeCache()
    var records: [ObjectIdentifier: TypeRecord] = [:]
    var failure: ArchiveError?
    var isFinished = false
    var valuesEnd = 0

    init(limits: ArchiveLimits) {
        objectLimit = Self.objectLimit(limits)
    }

    mutating func setLimits(_ limits: ArchiveLimits) {
        objectLimit = Self.objectLimit(limits)
    }

    private static func objectLimit(_ limits: ArchiveLimits) -> Int {
        min(max(limits.objects, 0), Int(UInt32.max) - 1)
    }

    /// A number that no scope has had.
    @inline(__always)
    mutating func nextSerial() -> Int {
        serials &+= 1
        return serials
    }

    /// Whether nothing but a few values was written, so that little has to be forgotten: most messages are like that.
    @inline(__always)
    var isPristine: Bool {
        tables.isPristine && out.isSmall && scope.isPristine && depth == 0 && deferredDepth == 0 && failure == nil
    }

    /// Forgets the few values of an archive that left the state pristine.
    @inline(__always)
    mutating func removeValues() {
        out.count = 0
        header.count = 0
        isFinished = false
    }

    /// Goes back to the beginning, and keeps memory of moderate size; the tables are not emptied.
    mutating func reset() {
        out.reset(most: 1 << 20)
        header.reset(most: 1 << 10)
        depth = 0
        deferredDepth = 0
        isFinished = false
        epoch &+= 1
        if epoch == 0 {
            // After four billion archives the numbers wrap around.
            epoch = 1
            records = [:]
            lastType = nil
            lastRecord = nil
        }
    }

    func deallocate() {
        out.deallocate()
        header.deallocate()
        tables.deallocate()
        writers.deallocate()
    }
}
