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
/// Objects keep their identity (`===`), also in cycles and if they are equal to others; true, 1 and 1.0 stay distinct.
/// Nothing traps: `error` keeps the first error and `data()` throws it. Belongs to one thread at a time.
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
    /// The index of each object encoded so far, by identity.
    var indices: [ObjectIdentifier: Int] = [:]
    /// Keeps encoded objects alive, so that no new object gets the identity of an old one.
    var retained: [AnyObject] = []
    /// The indices of objects that were encoded only conditionally so far.
    var conditional: Set<Int> = []
    /// The replacements of objects.
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

    /// Makes an archiver with keys whose archive `finishEncoding()` appends to `data`.
    ///
    /// After an `error`, nothing is appended.
    public convenience init(forWritingWith data: NSMutableData) {
        self.init(sequential: false, secure: false)
        output = data
    }

    /// Receives the complete archive.
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

    /// Always nil: an archiver accepts all classes.
    public override var allowedClasses: [AnyClass]? { nil }

    /// The first `ArchiveError`; nothing is encoded after it.
    public override var error: (any Error)? { failure }

    /// Sets `error`; raises nothing under either failure policy.
    public override func failWithError(_ error: any Error) { fail(error) }

    /// The version from `NSCodingVersioned`, 0 for other classes; `NSNotFound` for a class not encoded yet.
    public override func version(forClassName className: String) -> Int { versions[className] ?? NSNotFound }

    var versions: [String: Int] = [:]

    // MARK: Objects

    /// Encodes an object or nil for a key.
    public override func encode(_ object: Any?, forKey key: String) {
        store(forKey: key) { try self.value(of: object) }
    }

    /// Encodes an object only if something else encodes it unconditionally; otherwise it decodes as nil.
    public override func encodeConditionalObject(_ object: Any?, forKey key: String) {
        store(forKey: key) { try self.conditionalValue(of: object) }
    }

    /// Encodes an object as the next one in order.
    public override func encode(_ object: Any?) { append("@") { try self.value(of: object) } }

    /// Encodes an object as the next one in order.
    public override func encodeRootObject(_ rootObject: Any) { encode(rootObject) }

    /// Encodes an object as the next one in order; in an archive, always by copy.
    public override func encodeBycopyObject(_ anObject: Any?) { encode(anObject) }

    /// Encodes an object as the next one in order, by copy: an archive has no other process to refer to.
    public override func encodeByrefObject(_ anObject: Any?) { encode(anObject) }

    /// Encodes an object as the next one in order, but only if something else encodes it unconditionally.
    public override func encodeConditionalObject(_ object: Any?) {
        append("@") { try self.conditionalValue(of: object) }
    }

    /// Encodes a property list as the next object in order.
    public override func encodePropertyList(_ aPropertyList: Any) { encode(aPropertyList) }

    // MARK: Values by key

    /// Encodes a Boolean for a key.
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

    /// Encodes bytes for a key; copies them once.
    public override func encodeBytes(_ bytes: UnsafePointer<UInt8>?, length: Int, forKey key: String) {
        store(forKey: key) { .data(try Self.copy(bytes.map(UnsafeRawPointer.init), length)) }
    }

    // MARK: Values in order

    /// Encodes bytes as the next value in order; copies them once.
    public override func encodeBytes(_ bytes: UnsafeRawPointer?, length: Int) {
        append("r") { .data(try Self.copy(bytes, length)) }
    }

    /// Encodes bytes as the next value in order.
    public override func encode(_ data: Data) { append("r") { .data(data) } }

    /// Encodes the memory that a type string (`i`, `[6f]`, `{CGPoint=dd}`) describes as the next values in order.
    ///
    /// For an object (`@`), the memory holds an `Any?`, as in Foundation.
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
