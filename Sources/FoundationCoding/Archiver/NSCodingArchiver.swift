public import Foundation
public import KeyedArchive

/// Archives objects of classes written for Foundation's coders (`NSCoding`), with keys, in Apple's layout.
///
/// ```swift
/// let archiver = NSCodingArchiver()
/// archiver.encode(foo, forKey: "myfoo")
/// archiver.encode(bar, forKey: "mybar")
/// try archiver.data().write(to: file, options: .atomic)
/// ```
///
/// Objects keep their identity (`===`), also in cycles and where they are equal to others; true, 1 and 1.0 stay what they
/// are. Nothing traps: what cannot be archived is kept in `error` and thrown by `data()`. Belongs to one thread at a time.
public class NSCodingArchiver: OneDirectionCoder {
    /// The format `data()` writes; binary by default.
    public var outputFormat: ArchiveFormat = .binary
    /// The bounds of what is written.
    public var limits = ArchiveLimits()
    /// Observes each object, and may replace it.
    public weak var delegate: (any NSCodingArchiverDelegate)?

    var writer: GraphWriter
    var frames: [EncodingFrame]
    var failure: ArchiveError?
    var isFinished = false
    var classMap = ClassMap()
    /// The index of each object met, by identity.
    var indices: [ObjectIdentifier: Int] = [:]
    /// Objects met, so that their identity is not given to another one.
    var retained: [AnyObject] = []
    /// Those of `indices` that were met only conditionally.
    var conditional: Set<Int> = []
    /// What was put in place of objects.
    var replacements: [ObjectIdentifier: AnyObject?] = [:]
    /// Objects whose bodies were postponed until the stack is short again.
    var deferred: [(object: NSObject, index: Int)] = []
    let isSecure: Bool
    let isSequential: Bool

    /// Makes an archiver with keys.
    ///
    /// - Parameter requiringSecureCoding: Whether all objects must be of `NSSecureCoding` classes.
    public convenience init(requiringSecureCoding: Bool = false) {
        self.init(sequential: false, secure: requiringSecureCoding)
    }

    /// Makes an archiver with keys whose archive is appended to `data` by `finishEncoding()`; nothing is if there is an
    /// `error` then.
    public convenience init(forWritingWith data: NSMutableData) {
        self.init(sequential: false, secure: false)
        output = data
    }

    /// Where the archive goes when it is complete.
    var output: NSMutableData?

    init(sequential: Bool, secure: Bool) {
        isSequential = sequential
        isSecure = secure
        writer = GraphWriter(archiver: sequential ? SequentialLayout.archiver : "NSKeyedArchiver")
        frames = [EncodingFrame(allowsKeys: !sequential)]
        super.init()
    }

    // MARK: What kind of coder this is

    /// Whether the object being encoded may use keys.
    public override var allowsKeyedCoding: Bool { frames[frames.count - 1].allowsKeys }

    /// Whether all objects must be of `NSSecureCoding` classes.
    public override var requiresSecureCoding: Bool { isSecure }

    /// No list: an archiver takes all classes.
    public override var allowedClasses: [AnyClass]? { nil }

    /// The first thing that went wrong, an `ArchiveError`; from then on nothing is encoded.
    public override var error: (any Error)? { failure }

    /// Sets `error`; nothing is raised, for either failure policy.
    public override func failWithError(_ error: any Error) { fail(error) }

    /// The version of a class as `NSCodingVersioned` gives it, 0 for others; `NSNotFound` for a class not encoded yet.
    public override func version(forClassName className: String) -> Int { versions[className] ?? NSNotFound }

    var versions: [String: Int] = [:]

    // MARK: Objects

    /// Encodes an object, or nil, for a key.
    public override func encode(_ object: Any?, forKey key: String) {
        store(forKey: key) { try self.value(of: object) }
    }

    /// Encodes an object only if something else encodes it without condition; else it comes back as nil.
    public override func encodeConditionalObject(_ object: Any?, forKey key: String) {
        store(forKey: key) { try self.conditionalValue(of: object) }
    }

    /// Encodes an object as the next one in order.
    public override func encode(_ object: Any?) { append("@") { try self.value(of: object) } }

    /// Encodes an object as the next one in order.
    public override func encodeRootObject(_ rootObject: Any) { encode(rootObject) }

    /// Encodes an object as the next one in order.
    ///
    /// In an archive all objects go by copy.
    public override func encodeBycopyObject(_ anObject: Any?) { encode(anObject) }

    /// Encodes an object as the next one in order.
    ///
    /// In an archive, which has no other process behind it, by copy too.
    public override func encodeByrefObject(_ anObject: Any?) { encode(anObject) }

    /// Encodes an object as the next one in order, only if something else encodes it without condition.
    public override func encodeConditionalObject(_ object: Any?) {
        append("@") { try self.conditionalValue(of: object) }
    }

    /// Encodes a property list as the next object in order.
    public override func encodePropertyList(_ aPropertyList: Any) { encode(aPropertyList) }

    // MARK: Values by key

    /// Encodes a truth value for a key.
    public override func encode(_ value: Bool, forKey key: String) { store(forKey: key) { .bool(value) } }

    /// Encodes an integer for a key.
    public override func encode(_ value: Int, forKey key: String) { store(forKey: key) { .integer(Int64(value)) } }

    /// Encodes a 32-bit integer for a key.
    public override func encode(_ value: Int32, forKey key: String) { store(forKey: key) { .integer(Int64(value)) } }

    /// Encodes a 64-bit integer for a key.
    public override func encode(_ value: Int64, forKey key: String) { store(forKey: key) { .integer(value) } }

    /// Encodes a 4-byte real for a key.
    public override func encode(_ value: Float, forKey key: String) {
        store(forKey: key) { .float(bits: value.bitPattern) }
    }

    /// Encodes an 8-byte real for a key.
    public override func encode(_ value: Double, forKey key: String) {
        store(forKey: key) { .double(bits: value.bitPattern) }
    }

    /// Encodes bytes for a key; one copy.
    public override func encodeBytes(_ bytes: UnsafePointer<UInt8>?, length: Int, forKey key: String) {
        store(forKey: key) { .data(try Self.copy(bytes.map(UnsafeRawPointer.init), length)) }
    }

    // MARK: Values in order

    /// Encodes bytes as the next value in order; one copy.
    public override func encodeBytes(_ bytes: UnsafeRawPointer?, length: Int) {
        append("r") { .data(try Self.copy(bytes, length)) }
    }

    /// Encodes bytes as the next value in order.
    public override func encode(_ data: Data) { append("r") { .data(data) } }

    /// Encodes one value of a type string (`i`, `[6f]`, `{CGPoint=dd}`) as the next value, or values, in order.
    ///
    /// An object (`@`) is read as an `Any?`, as by Foundation.
    public override func encodeValue(ofObjCType type: UnsafePointer<CChar>, at address: UnsafeRawPointer) {
        perform { try self.encode(type: String(cString: type), at: address) }
    }

    /// Encodes a C array as the next value in order.
    public override func encodeArray(
        ofObjCType type: UnsafePointer<CChar>, count: Int, at array: UnsafeRawPointer
    ) {
        perform { try self.encode(type: "[\(count)\(String(cString: type))]", at: array) }
    }

    private static func copy(_ bytes: UnsafeRawPointer?, _ length: Int) throws -> Data {
        guard let bytes, length > 0 else {
            if length == 0 { return Data() }
            throw ArchiveError(.misuse, "\(length) bytes at no address")
        }
        return Data(bytes: bytes, count: length)
    }
}
