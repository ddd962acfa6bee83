/// The bounds within which archives are written and read.
///
/// Each bound is checked before memory or stack is used: untrusted bytes cost at most what the limits allow.
public struct ArchiveLimits: Sendable, Hashable {
    /// Bytes of one archive.
    ///
    /// Default 256 MiB: larger than any message meant to travel whole.
    public var bytes: Int = 256 << 20
    /// Objects in one archive.
    ///
    /// Default 4 Mi; each costs the reader 9 bytes before it is built.
    public var objects: Int = 4 << 20
    /// `Codable` values, lists and other collections nested in one another inside one object.
    ///
    /// Default 512, as many as `JSONDecoder` takes; real data has under ten. Each level costs stack: the code of types that are
    /// nested deeper than 64 levels runs on threads of its own, one after the other, where thread-local and task-local
    /// values of the calling code are not to be found.
    public var depth: Int = 512
    /// The longest path of references (one less than its objects) between instances of the user's classes.
    ///
    /// Default 10,000: freeing a longer chain recurses in the user's own `deinit` until an ordinary stack is used up.
    public var chain: Int = 10_000
    /// UTF-8 bytes of one string.
    ///
    /// Default 64 MiB.
    public var string: Int = 64 << 20
    /// Elements of one collection.
    ///
    /// Default 16 Mi.
    public var collection: Int = 16 << 20
    /// Shapes (class, version, keys) in one archive.
    ///
    /// Default 4,096: no program has that many; at most 65,535.
    public var shapes: Int = 4096
    /// Keys of one shape.
    ///
    /// Default 1,024; types with more are stored with their keys inline.
    public var keys: Int = 1024
    /// Objects by reference in one message.
    ///
    /// Default 4,096, what one opener frame can carry.
    public var references: Int = 4096

    /// Makes the default limits; change what you need.
    public init() {}
}
