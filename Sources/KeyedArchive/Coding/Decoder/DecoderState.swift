#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One open object, record, list or value while it is read.
struct DecoderFrame {
    enum Layout: UInt8 {
        /// Nothing can be read by key.
        case closed
        /// A value whose type has not asked for a container yet.
        case unopened
        case keyed
        case list
        /// A value read without container.
        case single
    }

    /// Where bytes are read; nearly always those of the archive.
    var source: ByteSource
    var keys: UnsafePointer<String> = EncoderScope.noKeys
    var keyCount = 0
    /// Keys or elements read in order.
    var cursor = 0
    /// Where the value begins (unopened), or its first key's value (keyed).
    var start: Int
    /// Where the values of all keys begin, and the end; made when keys are not read in order.
    var index: UnsafeMutablePointer<Int>?
    var shape: Unmanaged<Shape>?
    /// Retained until the frame is disposed of.
    ///
    /// Not counted: frames are copied all the time.
    var extras: Unmanaged<FrameExtras>?
    var serial: Int
    /// The height of the highest object referred to so far; see `ObjectDecoder+Chains`.
    var height: Int32 = 0
    var object: Int = -1
    var layout: Layout
    var isBody = false
    /// Values decoded without key so far.
    var unkeyed = 0
}

/// What only few frames need.
final class FrameExtras {
    /// Keys that stand in the archive beside their values.
    var keys: UnsafeMutablePointer<String>?
    var keyCount = 0
    var positions: [String: Int] = [:]
    /// Values written out anew from a packed list.
    var scratch: ByteSink?

    deinit {
        keys?.deinitialize(count: keyCount)
        keys?.deallocate()
        scratch?.deallocate()
    }
}

/// Everything a decoder changes while it works, behind a pointer as in `EncoderState`.
struct DecoderState {
    var frame: DecoderFrame
    var depth = 0
    var serials = 1
    var objectCount = 0
    var bodies = BodyTable()
    /// 0: not begun, 1: being made, 2: failed, else the address of the object, which is retained.
    var slots: ZeroedMemory<UInt>
    /// The shapes, which the decoder retains, without the cost of an array.
    var shapes: UnsafeMutablePointer<ShapeEntry>
    var shapeCount: Int
    /// The heights of objects, if there are enough for too long a chain; see `ObjectDecoder+Chains`.
    ///
    /// Those that refer to nothing never write theirs, so that for them it takes no memory.
    var heights: ZeroedMemory<Int32>?
    var readers = MetatypeCache()
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
    /// The archive has neither objects nor shapes and owns no memory: nothing is noted about them while it is read.
    var isPlain = false
}

/// A shape with the class found for it last.
struct ShapeEntry {
    let shape: Unmanaged<Shape>
    var expected: ObjectIdentifier?
    var list: ObjectIdentifier?
    var found: ResolvedClass?
}

struct ResolutionKey: Hashable {
    let shape: Int
    let type: ObjectIdentifier
    let list: ObjectIdentifier?
}

enum ResolvedClass {
    case coding(any ObjectCoding.Type)
    case plain(any (AnyObject & Decodable).Type)

    var type: any (AnyObject & Decodable).Type {
        switch self {
        case .coding(let type): type
        case .plain(let type): type
        }
    }
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

enum SlotState {
    static let empty: UInt = 0
    static let building: UInt = 1
    static let failed: UInt = 2
}
