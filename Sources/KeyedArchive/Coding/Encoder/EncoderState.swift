/// All mutable state of an encoder.
///
/// It lives behind a pointer: class properties would be checked for exclusive access at each use.
struct EncoderState: ~Copyable {
    var out = ByteSink(capacity: 512)
    var scope = EncoderScope.closed
    var header = ByteSink(capacity: 32)
    var tables = EncoderTables()
    private(set) var objectLimit: Int
    var depth = 0
    /// Where each value around the current one was left.
    var levels = LevelStack<EncoderLevel>()
    /// The deferred values that are being written, innermost first.
    var deferred: Unmanaged<DetachedPlace>?
    /// An error of a type's own code that another type gets from a container.
    var thrown: ThrownError?
    private var serials = 1
    /// The serial number of the last scope before this archive.
    private(set) var firstSerial = 0
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
    /// The bytes of values for each object of the archive that was given away last: the next one's are probably as large.
    private(set) var bytesPerObject = 0

    init(limits: ArchiveLimits) {
        objectLimit = Self.objectLimit(limits)
    }

    mutating func setLimits(_ limits: ArchiveLimits) {
        objectLimit = Self.objectLimit(limits)
        levels.forgetRoom()
    }

    private static func objectLimit(_ limits: ArchiveLimits) -> Int {
        min(max(limits.objects, 0), Int(UInt32.max) - 1)
    }

    /// A serial number that no scope has used.
    @inline(__always)
    mutating func nextSerial() -> Int {
        serials &+= 1
        return serials
    }

    /// Whether only a few values were written, as in most messages: then there is little to reset.
    @inline(__always)
    var isPristine: Bool {
        tables.isPristine && out.isSmall && scope.isPristine && depth == 0 && deferredDepth == 0 && failure == nil
            && thrown == nil
    }

    /// Starts with memory of its own again, after that of the output was given away.
    mutating func giveAwayOutput() {
        bytesPerObject = tables.objects.isEmpty ? 0 : min(out.count / tables.objects.count + 1, Self.mostReserved)
        out = ByteSink(capacity: 512)
    }

    /// Reserves memory for the values of many objects, if the archive before this one had some.
    mutating func reserveOutput(objects count: Int) {
        out.reserve(min(count * bytesPerObject, Self.mostReserved))
        bytesPerObject = 0
    }

    private static let mostReserved = 1 << 20

    /// Resets the state after an archive that left it pristine.
    @inline(__always)
    mutating func removeValues() {
        out.count = 0
        header.count = 0
        isFinished = false
        firstSerial = serials
    }

    /// Resets for the next archive and keeps memory of moderate size; does not empty the tables.
    mutating func reset() {
        out.reset(most: 1 << 20)
        header.reset(most: 1 << 10)
        depth = 0
        deferredDepth = 0
        deferred = nil
        thrown = nil
        isFinished = false
        firstSerial = serials
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
        levels.deallocate()
        tables.deallocate()
        writers.deallocate()
    }
}
