#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a decoder records about objects and references; most messages have neither.
struct DecoderNotes: ~Copyable {
    /// The heights of objects; nil if there are too few objects for a chain beyond the limit.
    ///
    /// An object without references never writes its height, so its part of the memory is never mapped. See
    /// `ObjectDecoder+Chains`.
    var heights: ZeroedMemory<Int32>?
    /// Classes found for shapes with more than one; the last one is in the shape's `ShapeEntry`.
    var resolutions: [ResolutionKey: ResolvedClass] = [:]
    /// Why objects could not be made, by number.
    var failures: [Int: [FailedObject]] = [:]
    /// Closures that wait for an object, by its number.
    var waiting: [Int: [PendingReference]] = [:]
    /// The serial numbers of objects' frames whose closures are not to be called: the objects could not be made.
    var abandoned: Set<Int> = []
    /// Objects that only references asked for; made last.
    var postponed: [Int] = []
    /// Arrays that keep objects alive whose slots do not.
    var keepers: [AnyObject] = []
    /// Slices of the archive that decoded values use, by address.
    var slices: [UnsafeRawPointer: Data] = [:]
    var list: ClassList? {
        didSet { listIdentity = list.map { ObjectIdentifier($0) } }
    }
    /// The identity of `list`, to compare without retaining it.
    private(set) var listIdentity: ObjectIdentifier?
    /// Keeps earlier lists alive: a new list at the same address would be mistaken for one of them.
    var lists: [ClassList] = []
    /// Marks the objects that `makeFromBelow` has visited; see `ObjectDecoder+Chains`.
    var seen: ZeroedMemory<UInt8>?
    var scanned = false
    /// An error of a type's own code that another type gets from a container.
    var thrown: ThrownError?
    /// What the views of the archive share; see `GraphView+Decoder`.
    var graph: AnyObject?
    /// How many more stack segments deep values may take; nil before the first.
    var segments: SegmentBudget?

    /// Whether nothing was noted.
    var isPristine: Bool {
        resolutions.isEmpty && failures.isEmpty && waiting.isEmpty && abandoned.isEmpty && postponed.isEmpty
            && slices.isEmpty
            && lists.isEmpty && list == nil && heights == nil && seen == nil && !scanned
            && graph == nil && thrown == nil && segments == nil
    }

    func deallocate() {
        heights?.deallocate()
        seen?.deallocate()
    }
}

struct ResolutionKey: Hashable {
    let shape: Int
    let type: ObjectIdentifier
    let list: ObjectIdentifier?
}

/// An attempt to make an object that failed.
struct FailedObject {
    /// The class it was to be of, as another one may succeed; nil if none can.
    let type: (any (AnyObject & Decodable).Type)?
    let error: ArchiveError
}

struct PendingReference {
    /// The serial number of the frame of the object that requested it.
    let owner: Int
    let list: ClassList?
    /// The key under which it was requested.
    let key: String
    /// Makes the object if it does not exist yet.
    let build: (ObjectDecoder) throws -> Void
    /// Hands the object over.
    let deliver: (ObjectDecoder, AnyObject) throws -> Void
}
