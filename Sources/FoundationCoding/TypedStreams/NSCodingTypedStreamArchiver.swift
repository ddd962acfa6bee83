public import Foundation
public import KeyedArchive

/// Archives objects as a typedstream, the format of Apple's `NSArchiver`.
///
/// ```swift
/// let data = try NSCodingTypedStreamArchiver.archivedData(withRootObject: employee)
/// ```
///
/// The calls are those of Foundation's `NSArchiver`: values are encoded without keys, and decoded in the same order as the
/// same types. Foundation's classes are written as Apple's systems write them. Where an archive was opened before, an
/// archiver made with ``init(rewriting:)`` writes what the program left alone as it was, byte for byte.
///
/// Objects keep their identity. Nothing traps: `error` keeps the first error, and `data()` throws it. Belongs to one thread at
/// a time. `ObjectCoding` and `Codable` classes are not concerned.
public final class NSCodingTypedStreamArchiver: OneDirectionCoder {
    // Objects stand inside one another in this format. So an object cannot be written later than it is met, as the archivers
    // with a graph do, and long chains need several stacks.

    /// The bounds of what is written.
    public var limits = ArchiveLimits()
    /// Whether the numbers of the file are big-endian.
    public let isBigEndian: Bool

    let origin: NSCodingTypedStreamUnarchiver?
    private let system: Int
    var writer: TypedStreamWriter
    var failure: ArchiveError?
    var pass = Pass.writing
    var isFinished = false
    var classMap = ClassMap()
    var otherNames: [String: String] = [:]
    /// Objects, classes and C strings have one numbering.
    var nextLabel = 0
    var labels: [ObjectIdentifier: Int] = [:]
    /// The labels of classes, by all that is written of them.
    var classLabels: [[ArchivedAncestry.Member]: Int] = [:]
    var stringLabels: [[UInt8]: Int] = [:]
    /// Keeps encoded objects alive, so that no new object gets the identity of an old one.
    var retained: [AnyObject] = []
    var replacements: [ObjectIdentifier: AnyObject?] = [:]
    /// What a root reaches without conditions, while it is encoded.
    var found: Set<ObjectIdentifier> = []
    /// The strings that are keys of attributes, which are the same in all attributed strings.
    var attributeKeys: [String: NSString] = [:]
    /// The objects being encoded, behind the values that belong to none.
    var places: [EncodingPlace]
    /// The labels of numbers by those of the original.
    var numberLabels: [Int: Int] = [:]
    private var versions: [String: Int] = [:]

    /// What the calls of objects do.
    enum Pass {
        /// They write.
        case writing
        /// They find out what a root reaches without conditions: `encodeRootObject(_:)` encodes twice.
        case finding
    }

    /// Makes an archiver of a new typedstream.
    ///
    /// - Parameters:
    ///   - isBigEndian: Whether to write big-endian numbers, as PowerPC and NeXT's first systems did.
    ///   - systemVersion: The version of the system that the file names; 1000 for OPENSTEP and Mac OS X.
    public init(isBigEndian: Bool = false, systemVersion: Int = 1000) {
        self.isBigEndian = isBigEndian
        system = systemVersion
        origin = nil
        places = [EncodingPlace()]
        writer = TypedStreamWriter(isBigEndian: isBigEndian)
        super.init()
        writer.number(Int64(systemVersion))
    }

    /// Makes an archiver that writes what an unarchiver opened as it was.
    ///
    /// The byte order and the version of the system are those of the file. Objects of Foundation's classes that the
    /// unarchiver made keep what Foundation on Linux does not tell: the kinds of numbers, the order of keys, the versions of
    /// classes, calendar dates. So a stream of such objects that the program did not change is written as the same bytes.
    ///
    /// - Parameter unarchiver: The unarchiver, which is kept.
    public init(rewriting unarchiver: NSCodingTypedStreamUnarchiver) {
        isBigEndian = unarchiver.graph.isBigEndian
        system = unarchiver.graph.systemVersion
        origin = unarchiver
        places = [EncodingPlace(original: unarchiver.graph.groups)]
        writer = TypedStreamWriter(isBigEndian: isBigEndian)
        super.init()
        writer.number(Int64(system))
    }

    deinit { writer.deallocate() }

    // MARK: What kind of coder this is

    override func refusal(of call: String) -> ArchiveError {
        guard call.hasSuffix("forKey:)"), call.hasPrefix("encode") else { return super.refusal(of: call) }
        return ArchiveError(.misuse, "\(call) was called on a coder of typedstreams, which have no keys")
    }

    /// Always false: a typedstream has no keys.
    public override var allowsKeyedCoding: Bool { false }

    /// Always nil: an archiver accepts all classes.
    public override var allowedClasses: [AnyClass]? { nil }

    /// The first `ArchiveError`; nothing is encoded after it.
    public override var error: (any Error)? { failure }

    /// Sets `error`.
    public override func failWithError(_ error: any Error) { fail(error) }

    /// The version of the system that the file names.
    public override var systemVersion: UInt32 { UInt32(truncatingIfNeeded: system) }

    /// The version from `NSCodingVersioned`, 0 for other classes; `NSNotFound` for a class not encoded yet.
    public override func version(forClassName className: String) -> Int { versions[className] ?? NSNotFound }

    func note(_ ancestry: [ArchivedAncestry.Member]) {
        for member in ancestry where versions[member.name] == nil { versions[member.name] = member.version }
    }

    // MARK: Objects

    /// Encodes an object or nil.
    public override func encode(_ object: Any?) {
        perform {
            group("@")
            try write(object)
        }
    }

    /// Encodes an object and what it reaches; inside of it, conditional objects may be encoded.
    ///
    /// Each `encode(with:)` runs twice: first without output, to find out what is encoded unconditionally.
    public override func encodeRootObject(_ rootObject: Any) {
        perform {
            guard pass == .writing, places.count == 1, found.isEmpty else {
                throw ArchiveError(.misuse, "encodeRootObject(_:) was called inside of an object")
            }
            pass = .finding
            defer {
                pass = .writing
                found = []
            }
            try write(rootObject)
            if let failure { throw failure }
            pass = .writing
            group("@")
            try write(rootObject)
        }
    }

    /// Encodes an object if something else encodes it unconditionally, otherwise nil; only inside of `encodeRootObject(_:)`.
    public override func encodeConditionalObject(_ object: Any?) {
        perform {
            guard pass == .writing else { return }
            guard !found.isEmpty else {
                throw ArchiveError(.misuse, "a conditional object outside of encodeRootObject(_:)")
            }
            group("@")
            guard let object = try resolve(object), found.contains(ObjectIdentifier(object)) else {
                return writer.null()
            }
            try write(object)
        }
    }

    /// Encodes an object; in an archive, always by copy.
    public override func encodeBycopyObject(_ anObject: Any?) { encode(anObject) }

    /// Encodes an object, by copy: an archive has no other process to refer to.
    public override func encodeByrefObject(_ anObject: Any?) { encode(anObject) }

    /// Encodes a property list of strings, bytes, arrays and dictionaries, in the binary form of those days.
    public override func encodePropertyList(_ aPropertyList: Any) {
        perform {
            let object = aPropertyList as AnyObject
            write(data: try OldPropertyList.data(object, isBigEndian: isBigEndian, limits: limits))
        }
    }

    // MARK: Values

    /// Encodes bytes as a count and an array; `decodeData()` decodes them.
    public override func encode(_ data: Data) { perform { write(data: data) } }

    /// Encodes bytes under the type `+`, as `NSString` does its text; `decodeBytes()` decodes them.
    public override func encodeBytes(_ bytes: UnsafeRawPointer?, length: Int) {
        perform {
            guard length == 0 || (bytes != nil && length > 0) else {
                throw ArchiveError(.misuse, "\(length) bytes at no address")
            }
            text(UnsafeRawBufferPointer(start: bytes, count: length))
        }
    }

    /// Encodes the memory that a type string (`i`, `[6f]`, `{CGPoint=dd}`) describes, as a group of this type.
    ///
    /// Memory for an object holds an `Any?`, for a class an `AnyClass?`, and for a C string (`*`), a selector (`:`) or an
    /// atom (`%`) a pointer. An integer `!` is left out.
    public override func encodeValue(ofObjCType type: UnsafePointer<CChar>, at address: UnsafeRawPointer) {
        encode(type: String(cString: type), at: address)
    }

    /// Encodes a C array as a group of one array.
    public override func encodeArray(
        ofObjCType type: UnsafePointer<CChar>, count: Int, at array: UnsafeRawPointer
    ) {
        encode(type: "[\(count)\(String(cString: type))]", at: array)
    }

    // MARK: Completion

    /// Completes the archive and returns its bytes; nothing can be encoded afterwards.
    ///
    /// - Throws: `ArchiveError`, the first one of the archive.
    /// - Complexity: Linear in the size of the archive.
    public func data() throws -> Data {
        isFinished = true
        if let failure { throw failure }
        return Data(writer.bytes)
    }

    /// Archives one object.
    ///
    /// - Parameter root: An object of an `NSCoding` class, or a value that bridges to one; nil makes an archive of nil.
    /// - Throws: `ArchiveError`.
    /// - Complexity: Linear in the number of objects and the size of their values.
    public static func archivedData(withRootObject root: Any?) throws -> Data {
        let archiver = NSCodingTypedStreamArchiver()
        if let root { archiver.encodeRootObject(root) } else { archiver.encode(nil as Any?) }
        return try archiver.data()
    }

    /// Archives one object into a file, which is replaced as a whole or not at all.
    ///
    /// - Throws: `ArchiveError`, which names the file if it cannot be written.
    /// - Complexity: Linear in the number of objects and the size of their values.
    public static func archive(_ root: Any?, to file: URL) throws {
        let data = try archivedData(withRootObject: root)
        try data.withUnsafeBytes { try ArchiveFile(file).write($0) }
    }

    /// Archives one object into a file, which is replaced as a whole or not at all.
    ///
    /// - Returns: Whether it succeeded; `archive(_:to:)` throws the reason.
    /// - Complexity: Linear in the number of objects and the size of their values.
    @discardableResult
    public static func archiveRootObject(_ root: Any, toFile path: String) -> Bool {
        (try? archive(root, to: URL(fileURLWithPath: path))) != nil
    }

    // MARK: Class names

    /// Writes instances of a class under another name in this archive; nil restores its own name.
    public func setClassName(_ name: String?, for type: AnyClass) { classMap[type] = name }

    /// The name set for a class in this archive.
    public func className(for type: AnyClass) -> String? { classMap[type] }

    /// Writes a class name as another one in this archive, as `NSArchiver` does.
    ///
    /// - Parameters:
    ///   - trueName: The name of a class, as it would be written.
    ///   - name: The name to write.
    public func encodeClassName(_ trueName: String, intoClassName name: String) {
        otherNames[trueName] = name == trueName ? nil : name
    }

    /// The name that is written for a class name: the name itself if no other was set.
    public func classNameEncoded(forTrueClassName trueName: String) -> String { otherNames[trueName] ?? trueName }

    /// Archives an object in place of another one, wherever that is met later.
    public func replace(_ object: Any, with newObject: Any) {
        let (object, newObject) = (object as AnyObject, newObject as AnyObject)
        replacements[ObjectIdentifier(object)] = .some(newObject)
        replacements[ObjectIdentifier(newObject)] = .some(newObject)
        retained += [object, newObject]
    }
}
