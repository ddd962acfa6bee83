import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A binary property list of unknown origin, checked once from end to end and then read in place.
///
///     "bplist00"  nodes ...  offset table  trailer (32 bytes)
///
///     trailer:    6 bytes unused, u8 size of an offset, u8 size of a reference,
///                 u64 count of nodes, u64 top node, u64 start of the offset table; all big-endian
///
/// Nodes are numbered by their position in the offset table. Containers refer to nodes by these numbers, so a node may
/// be shared. Nothing is expanded: the table holds only offsets. After `init`, every offset, length and reference is in
/// bounds and no container contains itself, so reading cannot fail.
// Immutable after `init`, except for `leaves`, which has a lock. `owner` keeps the memory of `base`, which is only
// read.
final class PlistTable: @unchecked Sendable {
    /// Keeps the bytes alive.
    let owner: AnyObject
    /// The whole property list.
    let file: UnsafeRawBufferPointer
    let base: UnsafeRawPointer
    /// Where the nodes end and the offset table begins.
    let end: Int
    /// The number of nodes.
    let count: Int
    /// The number of the outermost node.
    let top: Int
    let referenceSize: Int
    private let offsets: UnsafeMutablePointer<UInt32>
    /// Containers that values name by number: those used several times, or nested deeper than `deepestInline`.
    private(set) var shared: [Int] = []
    private(set) var sharedNumbers: [Int: Int] = [:]
    /// Where shared strings and data begin that are worth making only once.
    private(set) var sharedLeaves: Set<Int> = []
    /// The shared strings and data made so far, by where they begin.
    let leaves = Mutex<[Int: PlistLeaf]>([:])
    /// Shared strings and data of at least this many bytes are made only once.
    ///
    /// A reference takes a byte or two, so a small file could refer to one long string very often.
    static let smallestShared = 64
    /// Levels of nested containers that may be read by recursion.
    static let deepestInline = 24

    static let magic: [UInt8] = Array("bplist0".utf8)
    private static let headerSize = 8
    private static let trailerSize = 32

    /// Checks a property list.
    ///
    /// - Parameters:
    ///   - bytes: The property list; valid as long as `owner` lives.
    ///   - owner: Retained.
    ///   - limits: Bounds; `bytes` and `string` apply here.
    init(_ bytes: UnsafeRawBufferPointer, owner: AnyObject, limits: ArchiveLimits) throws {
        guard bytes.count <= min(limits.bytes, Int(UInt32.max)) else {
            throw ArchiveError(.limit, "an archive of more than \(limits.bytes) bytes")
        }
        guard bytes.count > Self.headerSize + Self.trailerSize, let base = bytes.baseAddress else {
            throw ArchiveError(.truncated, "the binary property list ends too early")
        }
        let trailer = bytes.count - Self.trailerSize
        func number(_ at: Int) -> UInt64 {
            UInt64(bigEndian: base.loadUnaligned(fromByteOffset: trailer + at, as: UInt64.self))
        }
        let offsetSize = Int(base.load(fromByteOffset: trailer + 6, as: UInt8.self))
        let referenceSize = Int(base.load(fromByteOffset: trailer + 7, as: UInt8.self))
        let count = number(8)
        let top = number(16)
        let table = number(24)
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize) else {
            throw Self.cutOff("an offset or reference size that is not 1 to 8")
        }
        guard table > UInt64(Self.headerSize), table <= UInt64(trailer) else {
            throw Self.cutOff("an offset table outside the file")
        }
        guard count > 0, count <= (UInt64(trailer) - table) / UInt64(offsetSize) else {
            throw Self.cutOff("more objects than the offset table has room for")
        }
        guard top < count else { throw Self.cutOff("a missing top object") }
        self.owner = owner
        file = bytes
        self.base = base
        self.end = Int(table)
        self.count = Int(count)
        self.top = Int(top)
        self.referenceSize = referenceSize
        offsets = .allocate(capacity: Int(count))
        try readOffsets(Int(table), offsetSize)
        let uses = UnsafeMutablePointer<UInt8>.allocate(capacity: self.count)
        defer { uses.deallocate() }
        uses.initialize(repeating: 0, count: self.count)
        try checkNodes(uses, limits)
        findSharedLeaves(uses)
        try findShared(uses)
    }

    deinit { offsets.deallocate() }

    static func corrupt(_ what: String) -> ArchiveError {
        ArchiveError(.corrupt, "a broken binary property list: \(what)")
    }

    /// The error for an invalid trailer, which locates everything else.
    private static func cutOff(_ what: String) -> ArchiveError {
        ArchiveError(.corrupt, "a binary property list that is truncated or broken at its end: \(what)")
    }

    private func readOffsets(_ table: Int, _ size: Int) throws {
        var position = table
        for index in 0..<count {
            let offset: UInt64
            switch size {
            case 1: offset = UInt64(base.load(fromByteOffset: position, as: UInt8.self))
            case 2: offset = UInt64(UInt16(bigEndian: base.loadUnaligned(fromByteOffset: position, as: UInt16.self)))
            case 4: offset = UInt64(UInt32(bigEndian: base.loadUnaligned(fromByteOffset: position, as: UInt32.self)))
            default: offset = unsigned(position, size)
            }
            guard offset >= UInt64(Self.headerSize), offset < UInt64(end) else {
                throw Self.corrupt("an offset outside the objects")
            }
            offsets[index] = UInt32(truncatingIfNeeded: offset)
            position += size
        }
    }

    // MARK: Nodes

    /// The node with a number, which is below `count`.
    @inline(__always)
    func node(_ number: Int) -> PlistNode { read(Int(offsets[number])) }

    @inline(__always)
    func marker(_ number: Int) -> UInt8 { base.load(fromByteOffset: Int(offsets[number]), as: UInt8.self) }

    /// Reads the node at an offset below `end`; its kind is `invalid` if it is out of bounds.
    @inline(__always)
    private func read(_ position: Int) -> PlistNode {
        let marker = base.load(fromByteOffset: position, as: UInt8.self)
        let low = Int(marker & 0x0F)
        switch marker >> 4 {
        case 0x5: return counted(.ascii, low, position &+ 1, 1)
        case 0x8: return fixed(.uid, position &+ 1, low &+ 1)
        case 0xD: return counted(.dictionary, low, position &+ 1, 2 &* referenceSize)
        case 0x1: return low <= 4 ? fixed(.integer, position &+ 1, 1 << low) : .invalid
        case 0xA: return counted(.array, low, position &+ 1, referenceSize)
        case 0x2: return low == 2 || low == 3 ? fixed(.real, position &+ 1, 1 << low) : .invalid
        case 0x4: return counted(.data, low, position &+ 1, 1)
        case 0x6: return counted(.utf16, low, position &+ 1, 2)
        case 0x7: return counted(.utf8, low, position &+ 1, 1)
        case 0x3: return low == 3 ? fixed(.date, position &+ 1, 8) : .invalid
        case 0x0:
            switch marker {
            case PlistMarker.null: return fixed(.null, position &+ 1, 0)
            case PlistMarker.isFalse: return fixed(.isFalse, position &+ 1, 0)
            case PlistMarker.isTrue: return fixed(.isTrue, position &+ 1, 0)
            default: return .invalid
            }
        default: return .invalid
        }
    }

    @inline(__always)
    private func fixed(_ kind: PlistNode.Kind, _ start: Int, _ size: Int) -> PlistNode {
        size <= end &- start ? PlistNode(kind: kind, start: start, count: size) : .invalid
    }

    @inline(__always)
    private func counted(_ kind: PlistNode.Kind, _ low: Int, _ start: Int, _ width: Int) -> PlistNode {
        guard low == 0x0F else {
            return low &* width <= end &- start ? PlistNode(kind: kind, start: start, count: low) : .invalid
        }
        guard start < end else { return .invalid }
        let marker = base.load(fromByteOffset: start, as: UInt8.self)
        let size = 1 << Int(marker & 0x0F)
        guard marker & 0xF0 == PlistMarker.integer, size <= 8, size < end &- start else { return .invalid }
        let count = unsigned(start &+ 1, size)
        let content = start &+ 1 &+ size
        guard count <= UInt64((end &- content) / width) else { return .invalid }
        return PlistNode(kind: kind, start: content, count: Int(count))
    }

    /// A big-endian number of up to eight bytes, all of them present.
    @inline(__always)
    func unsigned(_ position: Int, _ size: Int) -> UInt64 {
        switch size {
        case 1: return UInt64(base.load(fromByteOffset: position, as: UInt8.self))
        case 2: return UInt64(UInt16(bigEndian: base.loadUnaligned(fromByteOffset: position, as: UInt16.self)))
        default:
            var value: UInt64 = 0
            for index in 0..<size {
                value = value << 8 | UInt64(base.load(fromByteOffset: position &+ index, as: UInt8.self))
            }
            return value
        }
    }

    /// The node number of a container's element.
    @inline(__always)
    func reference(_ container: PlistNode, _ index: Int) -> Int {
        Int(truncatingIfNeeded: unsigned(container.start &+ index &* referenceSize, referenceSize))
    }

    /// The node number of a dictionary's value.
    @inline(__always)
    func value(_ dictionary: PlistNode, _ index: Int) -> Int { reference(dictionary, dictionary.count &+ index) }

    // MARK: Checks

    private func checkNodes(_ uses: UnsafeMutablePointer<UInt8>, _ limits: ArchiveLimits) throws {
        // Overlapping nodes could make a small file expensive, so their total size is bounded.
        var budget = 4 * end
        for number in 0..<count {
            let node = node(number)
            switch node.kind {
            case .invalid: throw invalid(number)
            case .array, .dictionary:
                let references = node.kind == .array ? node.count : 2 * node.count
                budget -= references * referenceSize
                guard budget >= 0 else { throw Self.corrupt("objects that overlap") }
                guard node.count <= limits.collection else {
                    throw ArchiveError(.limit, "more than \(limits.collection) elements")
                }
                try checkReferences(node, references, uses)
                if node.kind == .dictionary { try checkKeys(node) }
            case .ascii, .utf8, .utf16:
                budget -= node.count
                guard budget >= 0 else { throw Self.corrupt("objects that overlap") }
                guard node.count <= limits.string else {
                    throw ArchiveError(.limit, "a string of more than \(limits.string) bytes")
                }
                try checkText(node)
            default: break
            }
        }
    }

    private func invalid(_ number: Int) -> ArchiveError {
        switch marker(number) >> 4 {
        case 0xB, 0xC: ArchiveError(.unsupported, "a set in a property list, which no keyed archive has")
        case 0x0, 0x1, 0x2, 0x3, 0x9, 0xE, 0xF: Self.corrupt("an object of an unknown kind")
        default: ArchiveError(.truncated, "a broken binary property list: an object longer than the file")
        }
    }

    @inline(__always)
    private func checkReferences(_ node: PlistNode, _ references: Int, _ uses: UnsafeMutablePointer<UInt8>) throws {
        let limit = UInt64(count)
        var position = node.start
        for _ in 0..<references {
            let target = unsigned(position, referenceSize)
            guard target < limit else { throw Self.corrupt("a reference to an object that is not there") }
            let used = uses[Int(target)]
            if used < 2 { uses[Int(target)] = used &+ 1 }
            position &+= referenceSize
        }
    }

    private func checkKeys(_ node: PlistNode) throws {
        for index in 0..<node.count {
            let kind = marker(reference(node, index)) >> 4
            guard kind >= 5 && kind <= 7 else { throw Self.corrupt("a key that is not a string") }
        }
    }

    private func checkText(_ node: PlistNode) throws {
        let bytes = UnsafeRawBufferPointer(start: base + node.start, count: node.kind == .utf16 ? 0 : node.count)
        switch node.kind {
        case .ascii: guard bytes.isASCII else { throw Self.corrupt("an ASCII string with bytes above 127") }
        case .utf8:
            guard bytes.isASCII || String(validating: bytes, as: UTF8.self) != nil else {
                throw Self.corrupt("a string that is not UTF-8")
            }
        default: break
        }
    }

    private func findSharedLeaves(_ uses: UnsafeMutablePointer<UInt8>) {
        for number in 0..<count where uses[number] > 1 {
            // Only long strings and data, whose count is not in the marker.
            let marker = marker(number)
            guard marker & 0x0F == 0x0F, (0x4...0x7).contains(marker >> 4) else { continue }
            let node = node(number)
            if node.count >= Self.smallestShared { sharedLeaves.insert(node.start) }
        }
    }

    /// Walks all containers from the top, without recursion.
    ///
    /// Throws if one contains itself, and finds those that are shared or nested too deep.
    private func findShared(_ uses: UnsafeMutablePointer<UInt8>) throws {
        guard node(top).isContainer else { return }
        let onPath: UInt8 = 0x10
        let done: UInt8 = 0x20
        var path = ContiguousArray<(number: Int32, next: Int32, depth: Int32)>()
        func enter(_ number: Int, _ depth: Int32) {
            var depth = depth
            if uses[number] & 0x0F > 1 || depth > Self.deepestInline {
                sharedNumbers[number] = shared.count
                shared.append(number)
                depth = 0
            }
            uses[number] |= onPath
            path.append((Int32(truncatingIfNeeded: number), 0, depth))
        }
        guard count <= Int(Int32.max) else { throw ArchiveError(.limit, "more than \(Int32.max) nodes") }
        enter(top, 0)
        walk: while var last = path.last {
            let node = node(Int(last.number))
            let references = node.kind == .array ? node.count : 2 * node.count
            // The keys of a dictionary are strings.
            if node.kind == .dictionary && last.next == 0 { last.next = Int32(node.count) }
            while Int(last.next) < references {
                let target = reference(node, Int(last.next))
                last.next += 1
                let kind = marker(target) >> 4
                guard kind == 0xA || kind == 0xD, uses[target] & done == 0 else { continue }
                guard uses[target] & onPath == 0 else { throw Self.corrupt("a container inside itself") }
                path[path.count - 1] = last
                enter(target, last.depth + 1)
                continue walk
            }
            uses[Int(last.number)] |= done
            path.removeLast()
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether all bytes are below 0x80.
    var isASCII: Bool {
        guard let base = baseAddress else { return true }
        var bits: UInt64 = 0
        var offset = 0
        while count &- offset >= 8 {
            bits |= base.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset &+= 8
        }
        while offset < count {
            bits |= UInt64(base.load(fromByteOffset: offset, as: UInt8.self))
            offset &+= 1
        }
        return bits & 0x8080_8080_8080_8080 == 0
    }
}
