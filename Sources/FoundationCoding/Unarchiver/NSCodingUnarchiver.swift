public import Foundation
public import KeyedArchive

/// Makes objects of classes written for Foundation's coders (`NSCoding`) from an archive with keys.
///
/// ```swift
/// let unarchiver = try NSCodingUnarchiver(forReadingFrom: data)
/// let foo = unarchiver.decodeObject(of: Foo.self, forKey: "myfoo")
/// if let error = unarchiver.error { throw error }
/// ```
///
/// The archive may be in Apple's format, binary or XML, or in the compact one, and it may be untrusted: an error in it
/// sets `error`, and all later calls return nil or 0. Objects keep their identity. Belongs to one thread at a time.
public class NSCodingUnarchiver: OneDirectionCoder {
    /// The bounds of what is read.
    public let limits: ArchiveLimits
    /// Observes each object, and may replace it.
    public weak var delegate: (any NSCodingUnarchiverDelegate)?

    let graph: ArchivedGraph
    var frames: [DecodingFrame]
    var failure: ArchiveError?
    var isFinished = false
    var classMap = ClassMap()
    var slots: [Int: Slot] = [:]
    var sharedValues: [Int: NSObject] = [:]
    /// What it takes to compare the objects of Foundation that were made, and shared values.
    var costs: [Int: ComparisonCost] = [:]
    var sharedCosts: [Int: ComparisonCost] = [:]
    var work: ComparisonWork
    /// Closures that wait for an object to exist.
    var waiting: [Int: [(AnyObject) -> Void]] = [:]
    /// The current allow lists, the innermost last; nil where all classes are allowed.
    var lists: [AllowList?]
    var listsByClasses: [[ObjectIdentifier]: AllowList] = [:]
    var strictness: Strictness
    /// The path from the object being decoded to the value it decodes.
    var here: [ArchiveError.Step] = []
    var verified: Set<Verified> = []
    var depth = 0
    /// C strings that were returned; they live as long as the coder.
    var strings: [UnsafeMutablePointer<CChar>] = []
    let isSequential: Bool

    /// A collection whose content was found to be allowed by a list.
    struct Verified: Hashable {
        let index: Int
        let list: ObjectIdentifier
    }

    /// The state of an object.
    enum Slot {
        /// Its `init(coder:)` is running; others can already refer to a collection.
        case making(collection: NSObject?)
        case made(AnyObject?)
    }

    /// Which classes may be made.
    enum Strictness {
        /// Any class, as in Foundation without secure coding.
        case anyClass
        /// Only listed classes.
        case listed
        /// Only listed classes that support secure coding.
        case secure
    }

    /// Opens an archive with keys.
    ///
    /// - Parameters:
    ///   - data: An archive in any format.
    ///   - limits: The bounds of what is read.
    /// - Throws: `ArchiveError` if it is not an archive.
    public convenience init(forReadingFrom data: Data, limits: ArchiveLimits = ArchiveLimits()) throws {
        try self.init(data, limits: limits, sequential: false)
    }

    /// Opens an archive with keys, like Foundation's initializer of this name.
    ///
    /// Any class of the program may be made: only for your own archives. Data that is not an archive sets `error`.
    public convenience init(forReadingWith data: Data) {
        let opened = Result { try Self.open(data, limits: ArchiveLimits(), sequential: false) }
        self.init(
            (try? opened.get()) ?? ArchivedGraph(archiver: "NSKeyedArchiver"), bytes: data.count,
            limits: ArchiveLimits(), sequential: false)
        requiresSecureCoding = false
        if case .failure(let error) = opened { fail(error) }
    }

    convenience init(_ data: Data, limits: ArchiveLimits, sequential: Bool) throws {
        self.init(
            try Self.open(data, limits: limits, sequential: sequential), bytes: data.count, limits: limits,
            sequential: sequential)
    }

    static func open(_ data: Data, limits: ArchiveLimits, sequential: Bool) throws -> ArchivedGraph {
        var graph = try ArchivedGraph(data, limits: limits, anyArchiver: true)
        if graph.archiver == nil {
            // Converts the graph of a compact archive to Apple's layout.
            graph = try ArchivedGraph(
                try graph.bytes(format: .binary, limits: limits), limits: limits, anyArchiver: true)
        }
        guard sequential == (graph.archiver == SequentialLayout.archiver) else {
            throw ArchiveError(
                .misuse,
                sequential
                    ? "an archive with keys: open it with an NSCodingUnarchiver"
                    : "a sequential archive: open it with an NSCodingSequentialUnarchiver")
        }
        return graph
    }

    init(_ graph: ArchivedGraph, bytes: Int, limits: ArchiveLimits, sequential: Bool) {
        self.graph = graph
        work = ComparisonWork(bytes: bytes)
        self.limits = limits
        isSequential = sequential
        strictness = sequential ? .anyClass : .secure
        lists = [AllowList.of([])]
        frames = [DecodingFrame(graph.roots, steps: [], allowsKeys: !sequential)]
        super.init()
    }

    deinit {
        for string in strings { free(string) }
    }

    // MARK: What kind of coder this is

    /// Whether the object being decoded may use keys.
    public override var allowsKeyedCoding: Bool { frames[frames.count - 1].allowsKeys }

    /// Whether to make only classes that are named and support `NSSecureCoding`.
    ///
    /// True by default, in archives with keys. If false, the archive may name any class of the program: only for your
    /// own archives.
    public override var requiresSecureCoding: Bool {
        get { strictness == .secure }
        set { strictness = newValue ? .secure : .anyClass }
    }

    /// The classes allowed here; nil if all are.
    public override var allowedClasses: [AnyClass]? {
        strictness == .anyClass ? nil : (lists[lists.count - 1]?.classes ?? [])
    }

    /// The first `ArchiveError`, with the path to the problem.
    public override var error: (any Error)? { failure }

    /// The policy as set; both policies set `error` and return, as Swift has no exceptions.
    public override var decodingFailurePolicy: NSCoder.DecodingFailurePolicy {
        get { policy }
        set { policy = newValue }
    }
    private var policy = NSCoder.DecodingFailurePolicy.setErrorAndReturn

    /// Sets `error`; for classes that find invalid values.
    public override func failWithError(_ error: any Error) { fail(error) }

    /// The version of a class in this archive: 0 if it has none, `NSNotFound` if no object has the class.
    ///
    /// - Complexity: Linear in the number of objects, the first time.
    public override func version(forClassName className: String) -> Int { versions[className] ?? NSNotFound }

    private lazy var versions: [String: Int] = {
        var versions: [String: Int] = [:]
        for object in graph.objects {
            switch object {
            case .classRecord(let type): versions[type.name] = type.version
            case .instance(let record) where record.classIndex == nil: versions[record.typeName] = record.version
            default: break
            }
        }
        return versions
    }()

    // MARK: Objects by key

    /// Whether there is a value for a key.
    public override func containsValue(forKey key: String) -> Bool {
        failure == nil && frames[frames.count - 1].value(forKey: key) != nil
    }

    /// Decodes an object; nil if there is none.
    ///
    /// With secure coding, only the classes allowed around it and those of property lists are accepted.
    public override func decodeObject(forKey key: String) -> Any? {
        keyed(key, nil) { try self.object($0, of: nil) }
    }

    /// Decodes an object of a class or its subclasses.
    public override func decodeObject<T: NSCoding>(of type: T.Type, forKey key: String) -> T? where T: NSObject {
        keyed(key, nil) { try self.object($0, of: [type]) } as? T
    }

    /// Decodes an object of one of several classes or their subclasses, which are also allowed inside it.
    ///
    /// - Parameters:
    ///   - classes: The classes; nil for the classes already allowed here.
    ///   - key: The key the object was encoded under.
    public override func decodeObject(of classes: [AnyClass]?, forKey key: String) -> Any? {
        keyed(key, nil) { try self.object($0, of: classes) }
    }

    /// Decodes a property list.
    public override func decodePropertyList(forKey key: String) -> Any? {
        decodeObject(of: AllowList.propertyListClasses, forKey: key)
    }

    // MARK: Values by key

    /// Decodes a Boolean; false if there is none.
    public override func decodeBool(forKey key: String) -> Bool {
        keyed(key, false) { try self.number($0).map { try Scalar.bool($0) } ?? false }
    }

    /// Decodes an integer; 0 if there is none.
    ///
    /// A number that does not fit is an error, as for all integers.
    public override func decodeInteger(forKey key: String) -> Int { integer(key) }

    /// Decodes a 32-bit integer; 0 if there is none.
    public override func decodeCInt(forKey key: String) -> Int32 { integer(key) }

    /// Decodes a 32-bit integer; 0 if there is none.
    public override func decodeInt32(forKey key: String) -> Int32 { integer(key) }

    /// Decodes a 64-bit integer; 0 if there is none.
    public override func decodeInt64(forKey key: String) -> Int64 { integer(key) }

    private func integer<T: FixedWidthInteger>(_ key: String) -> T {
        keyed(key, 0) { try self.number($0).map { try Scalar.integer($0) } ?? 0 }
    }

    /// Decodes a real; 0 if there is none.
    public override func decodeFloat(forKey key: String) -> Float {
        keyed(key, 0) { try self.number($0).map { Float(try Scalar.real($0)) } ?? 0 }
    }

    /// Decodes a real; 0 if there is none.
    public override func decodeDouble(forKey key: String) -> Double {
        keyed(key, 0) { try self.number($0).map { try Scalar.real($0) } ?? 0 }
    }

    /// Passes the bytes to `body`, or nil if there are none.
    @available(swift, deprecated: 9999, message: "Use withDecodedUnsafeBytes(forKey:body:).")
    public override func withDecodedUnsafeBufferPointer<Result>(
        forKey key: String, body: (UnsafeBufferPointer<UInt8>?) throws -> Result
    ) rethrows -> Result {
        guard let data = bytes(forKey: key) else { return try body(nil) }
        return try data.withUnsafeBytes { bytes in
            try bytes.withMemoryRebound(to: UInt8.self) { try body($0.baseAddress == nil ? Self.noBytes : $0) }
        }
    }

    /// Passes the bytes to `body`, or nil if there are none.
    public override func withDecodedUnsafeBytes<Result>(
        forKey key: String, body: (UnsafeRawBufferPointer?) throws -> Result
    ) rethrows -> Result {
        guard let data = bytes(forKey: key) else { return try body(nil) }
        return try data.withUnsafeBytes { try body($0) }
    }

    /// Foundation unwraps the address of the buffer without a check.
    private static var noBytes: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: UnsafePointer(bitPattern: 1), count: 0)
    }

    // MARK: In order

    /// Decodes the next object in order.
    public override func decodeObject() -> Any? { next("@", nil) { try self.object($0, of: nil) } }

    /// Decodes the next bytes in order, as `encode(_: Data)` and `encodeBytes(_:length:)` encode them.
    public override func decodeData() -> Data? { next("r", nil) { try self.data($0) } }

    /// Decodes the next object in order, a property list.
    public override func decodePropertyList() -> Any? {
        next("@", nil) { try self.object($0, of: AllowList.propertyListClasses) }
    }

    /// Decodes the next values in order into memory that holds values of this type.
    ///
    /// After an error the memory contains zeros, or nil for an object. A C string lives as long as the coder.
    public override func decodeValue(ofObjCType type: UnsafePointer<CChar>, at address: UnsafeMutableRawPointer) {
        decode(type: String(cString: type), at: address)
    }

    /// Decodes a C array of exactly this count and type.
    public override func decodeArray(
        ofObjCType itemType: UnsafePointer<CChar>, count: Int, at array: UnsafeMutableRawPointer
    ) {
        decode(type: "[\(count)\(String(cString: itemType))]", at: array)
    }
}
