#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a decoder notes about objects and references; most messages have neither.
struct DecoderNotes: ~Copyable {
    /// The heights of objects, if there are enough for too long a chain; see `ObjectDecoder+Chains`.
    ///
    /// Those that refer to nothing never write theirs, so that for them it takes no memory.
    var heights: ZeroedMemory<Int32>?
    /// Classes found for shapes where they are not the last one found, which stands in the shape's entry.
    var resolutions: [ResolutionKey: ResolvedClass] = [:]
    var failures: [Int: ArchiveError] = [:]
    /// Closures that wait for an object, by its number.
    var waiting: [Int: [PendingReference]] = [:]
    /// Objects asked for by reference only, to be made when nothing else is.
    var postponed: [Int] = []
    /// Slices of the archive that were handed out, by their address.
    var slices: [UnsafeRawPointer: Data] = [:]
    var list: ClassList? {
        didSet { listIdentity = list.map { ObjectIdentifier($0) } }
    }
    /// Compared instead of `list`, which would be retained for it.
    private(set) var listIdentity: ObjectIdentifier?
    /// Lists that were given before, which must not be taken for new ones at the same address.
    var lists: [ClassList] = []
    /// Objects that were met by a walk from above; see `ObjectDecoder+Chains`.
    var seen: ZeroedMemory<UInt8>?
    var scanned = false

    /// Whether nothing was noted.
    var isPristine: Bool {
        resolutions.isEmpty && failures.isEmpty && waiting.isEmpty && postponed.isEmpty && slices.isEmpty
            && lists.isEmpty && list == nil && heights == nil && seen == nil && !scanned
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

struct PendingReference {
    let list: ClassList?
    /// The key it was asked for under.
    let key: String
    /// Makes the object if it does not exist yet.
    let build: (ObjectDecoder) throws -> Void
    /// Hands the object over.
    let deliver: (ObjectDecoder, AnyObject) throws -> Void
}
