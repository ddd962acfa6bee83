public import Foundation
public import KeyedArchive

/// Makes objects from a typedstream, the format of Apple's `NSArchiver`: the bodies of messages, old nibs and settings.
///
/// ```swift
/// let body = try NSCodingTypedStreamUnarchiver.unarchivedObject(ofClass: NSAttributedString.self, from: data)
/// ```
///
/// The calls are those of Foundation's `NSUnarchiver`: values are decoded without keys, in the order written, as the types
/// written. A request for another type is an error that names both. So is a class that leaves values unread. Foundation's
/// own classes open as what they are on Linux. Classes of yours open by `init(coder:)`, with `allowsKeyedCoding` false.
///
/// An error sets `error`, and all later calls return nil or 0. Objects keep their identity. Belongs to one thread at a
/// time.
///
/// `ObjectCoding` and `Codable` classes are not concerned: they cannot be in a typedstream.
public final class NSCodingTypedStreamUnarchiver: OneDirectionCoder {
    // A class by itself, and not a format of `NSCodingSequentialUnarchiver`. That one makes objects from a keyed graph, whose
    // records have one value a key and one version; here the values are read from the file in groups, classes have a version
    // each, and C strings an identity.

    /// The content of the archive, without classes.
    public let graph: TypedStreamGraph
    /// The bounds of what is read.
    public let limits: ArchiveLimits

    /// Whether requests for the types of 64-bit programs accept those that 32-bit programs wrote; false by default.
    ///
    /// If true, `q` accepts `i` and `l`, `Q` accepts `I` and `L`, and `d` accepts `f`, also inside structures: the
    /// `NSInteger`, `NSUInteger` and `CGFloat` of such programs are read as `Int`, `UInt` and `Double`.
    public var accepts32BitTypes = false

    var frames: [TypedStreamFrame]
    var failure: ArchiveError?
    var slots: [Int: Slot] = [:]
    /// The labels of the objects that were made, for an archiver that writes them again.
    var labels: [ObjectIdentifier: Int] = [:]
    /// The current allow lists, the innermost last; nil where all classes are allowed.
    var lists: [AllowList?]
    var listsByClasses: [[ObjectIdentifier]: AllowList] = [:]
    var classMap = ClassMap()
    var otherNames: [String: String] = [:]
    /// The classes in the archive that were looked up, by label.
    var ancestries: [Int: ArchivedAncestry] = [:]
    /// Closures that wait for an object to exist.
    var waiting: [Int: [(AnyObject) -> Void]] = [:]
    /// The number of objects being decoded, and the most so far.
    var depth = 0
    var deepest = 0
    /// How deep objects are inside one another in the object that was decoded last.
    var lastHeight = 0
    /// What it takes to compare that object.
    var lastCost = ComparisonCost()
    var work: ComparisonWork
    /// The dictionary that was made last, and its entries: Foundation gives them back slowly, and not as they are.
    var lastEntries: (dictionary: NSDictionary, entries: [(AnyObject, AnyObject)])?
    /// C strings that were returned, by label and by content; they live as long as the coder.
    var stringsByLabel: [Int: UnsafeMutablePointer<CChar>] = [:]
    var stringsByText: [ArchivedText: UnsafeMutablePointer<CChar>] = [:]

    /// How deep objects may be inside one another where they are compared, hashed or freed by recursion.
    var shallow: Int { min(limits.depth, 64) }

    /// The state of an object.
    enum Slot {
        /// Its `init(coder:)` is running; others can already refer to a collection.
        case making(collection: NSObject?)
        /// It was made under an allow list, has so many levels of objects, and takes so much to compare.
        case made(AnyObject, under: AllowList?, height: Int, cost: ComparisonCost)
    }

    /// Opens a typedstream.
    ///
    /// - Parameters:
    ///   - data: The archive.
    ///   - classes: The classes that may be made, in addition to those of property lists. Nil allows any class of the
    ///     program: only for your own archives.
    ///   - limits: The bounds of what is read.
    /// - Throws: `ArchiveError` if it is not a typedstream; the message names the byte.
    /// - Complexity: Linear in the size of the archive.
    public init(forReadingFrom data: Data, allowing classes: [AnyClass]? = nil, limits: ArchiveLimits = ArchiveLimits())
        throws
    {
        graph = try TypedStreamGraph(data, limits: limits)
        self.limits = limits
        work = ComparisonWork(bytes: data.count)
        frames = [TypedStreamFrame(cursor: TypedStreamCursor(graph), place: nil)]
        lists = [classes.map { AllowList.of($0) }]
        super.init()
    }

    deinit {
        // An object inside another has the higher label: freeing in this order does not recurse.
        if deepest > shallow { for label in slots.keys.sorted() { slots[label] = nil } }
        for string in stringsByLabel.values { free(string) }
        for string in stringsByText.values { free(string) }
    }

    // MARK: What kind of coder this is

    override func refusal(of call: String) -> ArchiveError {
        guard call.hasSuffix("forKey:)"), call.hasPrefix("decode") else { return super.refusal(of: call) }
        return ArchiveError(.misuse, "\(call) was called on a coder of typedstreams, which have no keys")
    }

    /// Always false: a typedstream has no keys.
    public override var allowsKeyedCoding: Bool { false }

    /// Always false: the list of classes applies to classes without secure coding, too.
    public override var requiresSecureCoding: Bool { false }

    /// The classes allowed here; nil if all are.
    public override var allowedClasses: [AnyClass]? { lists[lists.count - 1]?.classes }

    /// The first `ArchiveError`, with the path to the problem and the byte.
    public override var error: (any Error)? { failure }

    /// Sets `error`; for classes that find invalid values.
    public override func failWithError(_ error: any Error) { fail(error) }

    /// The version of the archiver's system: 1000 for OPENSTEP and Mac OS X, 930 for NEXTSTEP 3.
    public override var systemVersion: UInt32 { UInt32(truncatingIfNeeded: graph.systemVersion) }

    /// Whether all values that belong to no object were decoded.
    public var isAtEnd: Bool { frames[0].cursor.nextType() == nil }

    /// The encodings of the next values, up to the end of their group; nil if the object, or the archive, has no more.
    ///
    /// For classes whose values depend on what was written, and to see what an archive contains.
    public var nextTypes: String? { failure == nil ? frames[frames.count - 1].cursor.restOfGroup()?.description : nil }

    /// The version that a class had when the object being decoded was written; `NSNotFound` if the class is not one of its.
    ///
    /// - Parameter className: The name of its class or of a superclass, in the archive or in the program.
    /// - Complexity: Linear in the number of superclasses.
    public override func version(forClassName className: String) -> Int {
        let members = frames[frames.count - 1].ancestry?.members ?? []
        let member = members.first { member in
            member.name == className || otherNames[member.name] == className
                || classNamed(member.name).map { Self.isName(className, of: ClassNames.name(of: $0)) } == true
        }
        return member?.version ?? NSNotFound
    }

    // MARK: Objects

    /// Decodes the next object; nil if nil is there.
    ///
    /// With a list of classes, those allowed around it and those of property lists are accepted.
    public override func decodeObject() -> Any? { decodeObject(of: nil as [AnyClass]?) }

    /// Decodes the next object, of a class or its subclasses.
    ///
    /// - Parameter type: The class, which is also allowed inside the object.
    public func decodeObject<T: NSObject & NSCoding>(of type: T.Type) -> T? {
        guard let object = decodeObject(of: [type]) else { return nil }
        if let object = object as? T { return object }
        fail(ArchiveError(.typeMismatch, "expected an object of \(T.self), found \(Swift.type(of: object))"))
        return nil
    }

    /// Decodes the next object, of one of several classes or their subclasses.
    ///
    /// - Parameter classes: The classes, which are also allowed inside the object; nil for those allowed here.
    public func decodeObject(of classes: [AnyClass]?) -> Any? { perform(nil) { try nextObject(of: classes) } }

    /// Decodes the next object, which may refer back to the one being decoded, and delivers it as soon as it exists.
    ///
    /// That is at once, or when its own `init(coder:)` has returned. Cycles need this method: other objects cannot refer
    /// to an object while its `init(coder:)` runs.
    ///
    /// - Parameters:
    ///   - type: The class the object must have.
    ///   - action: Receives the object, at most once. Capture `self` weakly or unowned if it may go away before.
    public func decodeReference<T: NSObject & NSCoding>(of type: T.Type, perform action: @escaping (T) -> Void) {
        let object: T? = perform(nil) { try nextReference(of: type, action) }
        if let object { action(object) }
    }

    /// Decodes a property list in the form of `encodePropertyList(_:)`: strings, bytes, arrays and dictionaries.
    public override func decodePropertyList() -> Any? {
        perform(nil) {
            guard let data = try nextData() else { return nil }
            return try OldPropertyList(data, limits: limits).object()
        }
    }

    // MARK: Values

    /// Decodes the next bytes, as `encode(_: Data)` or `encodeBytes(_:length:)` encoded them.
    public override func decodeData() -> Data? { perform(nil) { try nextData() } }

    /// Decodes the next values into memory that holds values of this type: `i`, `{CGPoint=dd}`, `@`.
    ///
    /// Memory for an object holds an `Any?`, for a class an `AnyClass?`, and for a C string (`*`), a selector (`:`) or an
    /// atom (`%`) a pointer, which lives as long as the coder; equal places give equal pointers. An integer `!` leaves its
    /// memory unchanged. After an error the memory contains zeros, or nil for an object.
    public override func decodeValue(ofObjCType type: UnsafePointer<CChar>, at address: UnsafeMutableRawPointer) {
        decode(type: String(cString: type), at: address)
    }

    /// Decodes a C array of exactly this count and type.
    public override func decodeArray(
        ofObjCType type: UnsafePointer<CChar>, count: Int, at array: UnsafeMutableRawPointer
    ) {
        decode(type: "[\(count)\(String(cString: type))]", at: array)
    }

    /// Decodes the next values, which were encoded as these types: what `decodeValuesOfObjCTypes:` does elsewhere.
    ///
    /// ```swift
    /// guard let values = coder.decodeValues("i@"), let name = values[1].objectValue as? String else { return nil }
    /// ```
    ///
    /// - Parameter types: The encodings, one behind the other.
    /// - Returns: As many values; nil after an error.
    /// - Complexity: Linear in the number of the values.
    public func decodeValues(_ types: String) -> [CodedValue]? {
        perform(nil) {
            guard let list = TypeEncoding.list(types, .typedStreamValues) else { throw TypeEncoding.unknown(types) }
            return try list.map { try codedValue($0) }
        }
    }

    /// Ends decoding of the values that belong to no object, and reports what is left of them.
    ///
    /// Not needed where more is expected behind what was decoded, as `NSUnarchiver` allows.
    public func finishDecoding() {
        perform(()) { try expectEnd(of: "the archive") }
    }
}
