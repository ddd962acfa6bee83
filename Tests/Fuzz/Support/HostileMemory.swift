import CPortShims
import Glibc
import Synchronization

@testable import PortTransport

/// Memory shared with the connection under test, and its two doorbells, from the peer's side.
///
/// It can follow the rules of `Frames.md`, and break each of them. Only one thread at a time may follow the rules; any
/// thread may break them.
final class HostileMemory: @unchecked Sendable {
    static let header = 4_096
    static let capacity = 128 << 10
    static let size = header + 2 * capacity
    private static let page = 4_096

    /// The memory, the doorbell of its maker, and the doorbell of its taker; closed ones are -1.
    private(set) var descriptors: [CInt]
    /// The doorbells, opened again.
    private(set) var doorbells: [CInt]
    private let isMaker: Bool
    private let area: UnsafeMutableRawPointer
    let memory: UnsafeMutableRawPointer
    /// The numbers of bytes written and read by the rules.
    private var written: UInt64 = 0
    private var taken: UInt64 = 0

    /// Makes memory according to `Frames.md`.
    convenience init?() {
        var descriptors = [port_memory_make(Self.size)]
        for _ in 0..<2 {
            var (own, given): (CInt, CInt) = (-1, -1)
            guard port_doorbell_make(&own, &given) >= 0 else { return nil }
            port_close(own)
            descriptors.append(given)
        }
        self.init(descriptors, isMaker: true)
    }

    /// Maps the memory that the connection has made; on failure the caller keeps the descriptors.
    convenience init?(taking descriptors: [CInt]) {
        guard descriptors.count == 3 else { return nil }
        self.init(descriptors, isMaker: false)
    }

    private init?(_ descriptors: [CInt], isMaker: Bool) {
        // Maps it between two inaccessible pages.
        let length = Self.size + 2 * Self.page
        guard let area = mmap(nil, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), area != MAP_FAILED,
            let memory = mmap(
                area + Self.page, Self.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptors[0], 0),
            memory != MAP_FAILED
        else { return nil }
        self.descriptors = descriptors
        self.isMaker = isMaker
        self.area = area
        self.memory = memory
        doorbells = descriptors[1...].map { port_doorbell_open($0) }
    }

    deinit {
        for descriptor in descriptors + doorbells where descriptor >= 0 { port_close(descriptor) }
        munmap(area, Self.size + 2 * Self.page)
    }

    // MARK: Places

    /// The counters of a ring: 0 is the ring to its maker, 1 the ring to its taker.
    private func counter(_ ring: Int, _ offset: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        (memory + ring * 128 + offset).assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    func word(_ ring: Int, _ offset: Int) -> UnsafeMutablePointer<Atomic<UInt32>> {
        (memory + ring * 128 + offset).assumingMemoryBound(to: Atomic<UInt32>.self)
    }

    private var own: Int { isMaker ? 0 : 1 }
    private var others: Int { isMaker ? 1 : 0 }
    private func bytes(_ ring: Int) -> UnsafeMutableRawPointer { memory + Self.header + ring * Self.capacity }

    // MARK: By the rules

    /// Writes as many bytes as there is room for, and rings the doorbell.
    func write(_ bytes: [UInt8], tells: Bool = true) {
        let used = written &- counter(others, 64).pointee.load(ordering: .acquiring)
        // The connection's counter is correct unless this peer has changed it.
        let room = used <= UInt64(Self.capacity) ? Self.capacity - Int(used) : 0
        let count = min(room, bytes.count)
        bytes.withUnsafeBytes { bytes in
            for (part, offset) in parts(from: written, count) where !part.isEmpty {
                (self.bytes(others) + offset).copyMemory(
                    from: bytes.baseAddress.unsafelyUnwrapped + part.lowerBound, byteCount: part.count)
            }
        }
        written &+= UInt64(count)
        counter(others, 0).pointee.store(written, ordering: .releasing)
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        guard tells else { return }
        if word(others, 76).pointee.exchange(0, ordering: .relaxed) == 1 { port_word_wake(word(others, 76)) }
        if word(others, 72).pointee.exchange(0, ordering: .relaxed) != 0 { port_doorbell_ring(doorbells[others]) }
    }

    /// Reads the bytes that the connection has written.
    func read() -> [UInt8] {
        let available = min(counter(own, 0).pointee.load(ordering: .acquiring) &- taken, UInt64(Self.capacity))
        let count = Int(available)
        let found = [UInt8](unsafeUninitializedCapacity: count) { target, filled in
            for (part, offset) in parts(from: taken, count) where !part.isEmpty {
                (UnsafeMutableRawPointer(target.baseAddress.unsafelyUnwrapped) + part.lowerBound).copyMemory(
                    from: bytes(own) + offset, byteCount: part.count)
            }
            filled = count
        }
        taken &+= available
        counter(own, 64).pointee.store(taken, ordering: .releasing)
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        if word(own, 8).pointee.exchange(0, ordering: .relaxed) != 0 { port_doorbell_ring(doorbells[others]) }
        return found
    }

    /// The one or two parts of a ring that contain these bytes: the range of the bytes, and their position.
    private func parts(from position: UInt64, _ count: Int) -> [(Range<Int>, Int)] {
        let offset = Int(truncatingIfNeeded: position) & (Self.capacity - 1)
        let first = min(count, Self.capacity - offset)
        return [(0..<first, offset), (first..<count, 0)]
    }

    /// Whether the connection has written bytes that this peer has not read.
    var hasInput: Bool { counter(own, 0).pointee.load(ordering: .acquiring) != taken }

    /// Whether the connection has read everything, according to its counter.
    var isRead: Bool { counter(others, 64).pointee.load(ordering: .acquiring) == written }

    // MARK: Against them

    /// Says of the regions that the connection offers what a reader says.
    func answer(_ value: UInt32) { word(own, 256 + 8).pointee.store(value, ordering: .releasing) }

    /// Says that pieces of them were read.
    func takePieces(_ count: UInt64) {
        let taken = counter(own, 256)
        taken.pointee.store(taken.pointee.load(ordering: .relaxed) &+ count, ordering: .releasing)
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        if word(own, 256 + 64).pointee.exchange(0, ordering: .relaxed) != 0 { port_doorbell_ring(doorbells[others]) }
    }

    /// Overwrites one of the sixteen words of the two rings and their regions.
    func poke(_ choice: UInt8, _ value: UInt64) {
        let (ring, place) = (Int(choice & 1), Int(choice >> 1) % 8)
        switch place {
        case 0: counter(ring, 0).pointee.store(value, ordering: .relaxed)
        case 1: counter(ring, 64).pointee.store(value, ordering: .relaxed)
        case 5: counter(ring, 256).pointee.store(value, ordering: .relaxed)
        case 6, 7:
            word(ring, place == 6 ? 264 : 320).pointee.store(UInt32(truncatingIfNeeded: value), ordering: .relaxed)
        default:
            let word = word(ring, [8, 72, 76][place - 2])
            word.pointee.store(UInt32(truncatingIfNeeded: value), ordering: .relaxed)
        }
    }

    /// A value near the current one, or at an edge of the range.
    func value(_ choice: UInt8, _ form: UInt8) -> UInt64 {
        let offset = [1: 64, 5: 256][Int(choice >> 1) % 8] ?? 0
        let now = counter(Int(choice & 1), offset).pointee.load(ordering: .relaxed)
        let step = UInt64(form >> 3)
        return switch form & 7 {
        case 0: step
        case 1: now &+ step
        case 2: now &- step
        case 3: now &+ UInt64(Self.capacity) &- 16 &+ step
        case 4: UInt64.max &- step
        case 5: 1 << (2 * step)
        case 6: now &+ (step << 10)
        default: (1 << 63) &+ step
        }
    }

    /// Writes bytes anywhere in the memory.
    func scribble(_ bytes: [UInt8], at offset: Int) {
        for (index, byte) in bytes.enumerated() {
            memory.storeBytes(of: byte, toByteOffset: (offset + index) % Self.size, as: UInt8.self)
        }
    }

    /// Rings, fills, empties, closes or changes a doorbell.
    func abuse(doorbell: Int, _ way: UInt8) {
        let (opened, given) = (doorbells[doorbell], descriptors[1 + doorbell])
        let junk = [UInt8](repeating: 7, count: 4_096)
        switch way & 7 {
        case 0: for _ in 0..<Int(way >> 3) + 1 { port_doorbell_ring(opened) }
        case 1: for _ in 0..<64 where Glibc.write(opened, junk, junk.count) <= 0 { break }
        case 2: for _ in 0..<64 where Glibc.write(opened, junk, 1) <= 0 { break }
        case 3:
            var bytes = junk
            for _ in 0..<64 where Glibc.read(opened, &bytes, bytes.count) <= 0 { break }
        case 4:
            if opened >= 0 { port_close(opened) }
            doorbells[doorbell] = -1
        case 5:
            if given >= 0 { port_close(given) }
            descriptors[1 + doorbell] = -1
        case 6:
            // Makes the pipe larger or smaller: F_SETPIPE_SZ.
            _ = fcntl(opened, 1_031, way & 8 == 0 ? CInt(4_096) : 1 << 18)
        default:
            // Makes the descriptor blocking, or keeps packets apart (O_DIRECT).
            _ = fcntl(given, F_SETFL, way & 8 == 0 ? 0 : 0o40000 | O_NONBLOCK)
        }
    }

    private static let futex = 202

    /// Wakes the threads that wait on a word, or moves them to another word.
    func disturb(_ choice: UInt8) {
        let sleeping = word(Int(choice & 1), choice & 2 == 0 ? 76 : 72)
        guard choice & 4 != 0 else { return port_word_wake(sleeping) }
        #if arch(x86_64)
            typealias Call = @convention(c) (Int, Int, Int, Int, Int, Int) -> Int
            let call = unsafeBitCast(dlsym(nil, "syscall"), to: Call.self)
            // FUTEX_REQUEUE: wakes none, moves all.
            _ = call(
                Self.futex, Int(bitPattern: UnsafeRawPointer(sleeping)), 3, 0, Int(Int32.max),
                Int(bitPattern: memory + 1_024))
        #endif
    }
}

/// Inaccessible pages around the mappings of shared memory, so that an access outside a mapping traps.
struct Guards {
    private var pages: [UnsafeMutableRawPointer] = []

    init() {
        guard let maps = fopen("/proc/self/maps", "r") else { return }
        defer { fclose(maps) }
        var line = [CChar](repeating: 0, count: 512)
        while fgets(&line, 512, maps) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard text.contains("/memfd:distant-objects") else { continue }
            let range = text.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
            guard range.count == 2 else { continue }
            for address in [range[0] - 4_096, range[1]] { add(at: address) }
        }
    }

    /// Adds a page unless the address is in use: MAP_FIXED_NOREPLACE.
    private mutating func add(at address: UInt) {
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | 0x10_0000
        let page = mmap(UnsafeMutableRawPointer(bitPattern: address), 4_096, PROT_NONE, flags, -1, 0)
        if let page, page != MAP_FAILED { pages.append(page) }
    }

    func remove() { for page in pages { munmap(page, 4_096) } }

    /// The number of such mappings in this process.
    static var mappings: Int {
        guard let maps = fopen("/proc/self/maps", "r") else { return 0 }
        defer { fclose(maps) }
        var line = [CChar](repeating: 0, count: 512)
        var count = 0
        while fgets(&line, 512, maps) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if text.contains("/memfd:") { count += 1 }
        }
        return count
    }
}
