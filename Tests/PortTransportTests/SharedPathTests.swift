import CPortShims
import Synchronization
import TestSupport
import Testing

@testable import PortTransport

#if canImport(Glibc)
    import Glibc

    /// The memory and doorbells themselves, beneath a channel, with a peer that may do anything to them.
    @Suite("Memory shared with a peer", .bounded())
    struct SharedPathTests {
        /// Both ends of one, and what the peer has of it.
        struct Ends {
            let maker: SharedMemoryTransport
            let taker: SharedMemoryTransport
            let descriptors: [CInt]
            /// As the peer sees it.
            let memory: UnsafeMutableRawPointer

            static let size = 4_096 + 2 * SharedMemoryTransport.capacity

            init() throws {
                let made = try #require(SharedMemoryTransport.make(tellsProcessor: true, for: .unknown))
                maker = made.path
                descriptors = made.descriptors
                taker = try #require(try SharedMemoryTransport.take(descriptors, tellsProcessor: true, from: .unknown))
                memory = try #require(port_memory_map(descriptors[0], Self.size))
            }

            func close() {
                maker.close()
                taker.close()
                for descriptor in descriptors { port_close(descriptor) }
                port_memory_unmap(memory, Self.size)
            }
        }

        static func write(
            _ path: SharedMemoryTransport, _ bytes: [UInt8], bound: Int = SharedMemoryTransport.capacity,
            content: RingContent = .others
        ) -> Int {
            var bytes = bytes
            return bytes.withUnsafeMutableBytes { bytes in
                var vector = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                return path.write(&vector, 1, bound: bound, content: content)
            }
        }

        static func read(_ path: SharedMemoryTransport, _ count: Int) -> (Int, [UInt8]) {
            var bytes = [UInt8](repeating: 0, count: count)
            let received = bytes.withUnsafeMutableBytes { bytes in
                var vector = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                return path.read(&vector, 1, requestsDoorbell: true)
            }
            return (received, Array(bytes.prefix(max(0, received))))
        }

        @Test("A writer says where it runs, and the other side takes any value for a hint")
        func processorInSharedPath() throws {
            let ends = try Ends()
            defer { ends.close() }
            #expect(!ends.taker.peerIsHere)
            // The ring to the taker is the second; the kernel may move this thread between two steps.
            let told = (ends.memory + 128 + 12).assumingMemoryBound(to: UInt32.self)
            #expect(told.pointee == 0)
            #expect(Self.write(ends.maker, [1, 2, 3]) == 3)
            #expect(told.pointee > 0 && Int(told.pointee) <= 1 << 16)
            while true {
                let before = port_processor()
                told.pointee = UInt32(before + 1)
                let isHere = ends.taker.peerIsHere
                guard port_processor() == before else { continue }
                #expect(isHere)
                break
            }
            for nonsense: UInt32 in [0, .max, 1 << 20] {
                told.pointee = nonsense
                #expect(!ends.taker.peerIsHere)
            }
            #expect(Self.read(ends.taker, 3) == (3, [1, 2, 3]))
        }

        @Test("Memory that a thread polls stays until it is let go")
        func peek() throws {
            let ends = try Ends()
            let peek = ends.taker.peek()
            #expect(!peek.hasChanged)
            #expect(Self.write(ends.maker, [1]) == 1)
            #expect(peek.hasChanged)
            ends.close()
            #expect(peek.hasChanged)
            peek.letGo()
        }

        @Test("A thread that polls trusts its own count of what was read, not the one that the peer can write")
        func foreignCountInSharedPath() throws {
            let ends = try Ends()
            defer { ends.close() }
            let peek = ends.taker.peek()
            defer { peek.letGo() }
            #expect(Self.write(ends.maker, [1, 2, 3]) == 3)
            #expect(peek.hasChanged)
            #expect(Self.read(ends.taker, 3).0 == 3)
            #expect(!peek.hasChanged)
            // The ring to the taker is the second.
            let taken = (ends.memory + 128 + 64).assumingMemoryBound(to: UInt64.self)
            #expect(taken.pointee == 3)
            for value: UInt64 in [0, 2, 4, .max] {
                taken.pointee = value
                #expect(!peek.hasChanged)
                let another = ends.taker.peek()
                #expect(!another.hasChanged)
                another.letGo()
            }
        }

        @Test("What a peer writes behind its end is nothing to look at")
        func afterTheEnd() throws {
            let ends = try Ends()
            defer { ends.close() }
            let peek = ends.taker.peek()
            defer { peek.letGo() }
            ends.taker.isPeerFinished.store(true, ordering: .releasing)
            #expect(Self.read(ends.taker, 3).0 == 0)
            #expect(Self.write(ends.maker, [1, 2, 3]) == 3)
            #expect(!peek.hasChanged)
            #expect(Self.read(ends.taker, 3).0 == 0)
        }

        @Test(
            "Bytes come out as they went in, whatever the pieces and wherever the ring ends", arguments: [1, 77, 4_711])
        func piecesInSharedPath(seed: UInt64) throws {
            let ends = try Ends()
            defer { ends.close() }
            var random = SeededGenerator(seed: seed)
            let sent = pattern(1_000_000)
            var (written, received) = (0, [UInt8]())
            while received.count < sent.count {
                let count = min(sent.count - written, 1 + random.below(100_000))
                let bound = random.below(2) == 0 ? SharedMemoryTransport.capacity : 32 << 10
                let result = Self.write(ends.maker, Array(sent[written..<(written + count)]), bound: bound)
                if count == 0 { #expect(result == 0) } else { #expect(result > 0 || result == -Int(EAGAIN)) }
                written += max(0, result)
                let (got, bytes) = Self.read(ends.taker, 1 + random.below(100_000))
                #expect(got > 0 || got == -Int(EAGAIN))
                received += bytes
            }
            #expect(received == sent, "seed \(seed)")
            #expect(Self.read(ends.taker, 10).0 == -Int(EAGAIN))
        }

        @Test("A full ring takes nothing more, and takes again what has been read")
        func fullInSharedPath() throws {
            let ends = try Ends()
            defer { ends.close() }
            let bytes = pattern(SharedMemoryTransport.capacity + 1)
            #expect(Self.write(ends.taker, bytes) == SharedMemoryTransport.capacity)
            #expect(Self.write(ends.taker, bytes) == -Int(EAGAIN))
            let awaitsRoom = ends.taker.awaitsRoom.load(ordering: .relaxed)
            #expect(awaitsRoom)
            #expect(Self.write(ends.taker, bytes) == -Int(EAGAIN))
            #expect(Self.read(ends.maker, 10).1 == Array(bytes.prefix(10)))
            #expect(Self.write(ends.taker, [1, 2, 3]) == 3)
            let stillAwaits = ends.taker.awaitsRoom.load(ordering: .relaxed)
            #expect(!stillAwaits)
            #expect(Self.write(ends.taker, bytes, bound: 100) == -Int(EAGAIN))
        }

        /// Whether an edge-triggered poller hears a doorbell.
        final class Listener {
            var poller = port_poller()

            init(_ doorbell: CInt) {
                #expect(port_poller_open(&poller) >= 0)
                #expect(port_poller_add(&poller, doorbell, 7, UInt32(PORT_READABLE | PORT_EDGE)) >= 0)
                // A reader that begins to wait is notified once.
                #expect(hears)
            }

            deinit { port_poller_close(&poller) }

            var hears: Bool {
                var event = port_event()
                return port_poller_wait(&poller, &event, 1, 0) == 1
            }
        }

        @Test(
            "A doorbell rings once for a reader that has found nothing, and for a writer without room once half a ring is free"
        )
        func requestsDoorbell() throws {
            let ends = try Ends()
            defer { ends.close() }
            let (maker, taker) = (Listener(ends.maker.doorbell), Listener(ends.taker.doorbell))
            // Nobody has looked yet, and so nobody has to be notified.
            #expect(Self.write(ends.maker, [1]) == 1)
            #expect(!taker.hears)
            #expect(Self.read(ends.taker, 10).1 == [1])
            #expect(ends.taker.isDrained)
            #expect(Self.write(ends.maker, [2]) == 1)
            #expect(Self.write(ends.maker, [3]) == 1)
            #expect(taker.hears)
            #expect(!taker.hears)
            _ = Self.read(ends.taker, 10)
            let rest = Self.write(ends.maker, pattern(SharedMemoryTransport.capacity))
            #expect(rest == SharedMemoryTransport.capacity)
            #expect(Self.write(ends.maker, [4]) == -Int(EAGAIN))
            #expect(taker.hears)
            _ = Self.read(ends.taker, SharedMemoryTransport.capacity / 2 - 1)
            #expect(!maker.hears)
            _ = Self.read(ends.taker, 1)
            #expect(maker.hears)
            _ = Self.read(ends.taker, 1)
            #expect(!maker.hears)
        }

        @Test("A thread that looks for answers is woken by them, and the doorbell rings for the rest")
        func answersInSharedPath() async throws {
            let ends = try Ends()
            defer { ends.close() }
            let doorbell = Listener(ends.taker.doorbell)
            func drain() { #expect(Self.read(ends.taker, 100).0 != 0 && Self.read(ends.taker, 100).0 == -Int(EAGAIN)) }
            drain()
            // Nobody looks: an answer rings like anything else.
            #expect(Self.write(ends.maker, [1], content: .answers) == 1)
            #expect(doorbell.hears)
            drain()
            ends.taker.beginAwaiting()
            #expect(Self.write(ends.maker, [2], content: .answers) == 1)
            #expect(!doorbell.hears)
            #expect(Self.write(ends.maker, [3], content: .others) == 1)
            #expect(doorbell.hears)
            drain()
            #expect(Self.write(ends.maker, [4], content: [.answers, .others]) == 1)
            #expect(doorbell.hears)
            drain()
            #expect(!ends.taker.hasInputOrAwaitsAnswer())
            let taker = ends.taker
            async let woken: Void = onPlainThread { taker.awaitAnswer(-1, atMost: .max) }
            #expect(Self.write(ends.maker, [5], content: .answers) == 1)
            await woken
            #expect(!doorbell.hears)
            #expect(ends.taker.hasInputOrAwaitsAnswer())
            // It leaves without having read, and learns that somebody must.
            #expect(ends.taker.hasInputAfterAwaiting())
            drain()
            #expect(!ends.taker.hasInputAfterAwaiting())
            #expect(Self.write(ends.maker, [6], content: .answers) == 1)
            #expect(doorbell.hears)
        }

        @Test("A doorbell that is not emptied is heard each time, however often it rings")
        func fullDoorbell() throws {
            let ends = try Ends()
            defer { ends.close() }
            let listener = Listener(ends.maker.doorbell)
            for _ in 0..<20_000 {
                port_doorbell_ring(ends.maker.doorbell)
                #expect(listener.hears)
            }
        }

        @Test("The peer's end comes behind what it wrote")
        func finished() throws {
            let ends = try Ends()
            defer { ends.close() }
            #expect(Self.write(ends.maker, [1, 2]) == 2)
            ends.taker.isPeerFinished.store(true, ordering: .releasing)
            #expect(ends.taker.hasInputOrAwaitsAnswer())
            #expect(Self.read(ends.taker, 10).1 == [1, 2])
            // No doorbell rings for the end, which is still to be read.
            #expect(!ends.taker.isDrained)
            // What it goes on to write is not read.
            #expect(Self.write(ends.maker, [3]) == 1)
            #expect(Self.read(ends.taker, 10).0 == 0)
            #expect(ends.taker.hasInputOrAwaitsAnswer())
        }

        @Test("Counters that cannot be right are an error, and never a reason to read or write beside the ring")
        func invalidCounters() throws {
            for value in [UInt64.max, 1 << 63, UInt64(SharedMemoryTransport.capacity) + 1, 1 << 40] {
                let ends = try Ends()
                defer { ends.close() }
                // Both directions: what the peer says it has written, and what it says it has read.
                ends.memory.storeBytes(of: value, as: UInt64.self)
                #expect(Self.read(ends.maker, 10).0 == -Int(EPROTO))
                #expect(ends.maker.hasInputOrAwaitsAnswer())
                ends.memory.storeBytes(of: value, toByteOffset: 128 + 64, as: UInt64.self)
                _ = Self.write(ends.maker, pattern(SharedMemoryTransport.capacity))
                #expect(Self.write(ends.maker, [1]) == -Int(EPROTO))
            }
            // Back to where it was.
            let ends = try Ends()
            defer { ends.close() }
            #expect(Self.write(ends.taker, pattern(100)) == 100)
            #expect(Self.read(ends.maker, 50).0 == 50)
            ends.memory.storeBytes(of: 10, as: UInt64.self)
            #expect(Self.read(ends.maker, 50).0 == -Int(EPROTO))
        }

        @Test("What is no such memory, and no doorbell, is refused")
        func foreignInSharedPath() throws {
            let ends = try Ends()
            defer { ends.close() }
            let good = ends.descriptors
            // In memory, too, and of the right size.
            let name = "/dev/shm/distant-objects-\(getpid())"
            let unsealed = open(name, O_RDWR | O_CREAT | O_EXCL, 0o600)
            unlink(name)
            #expect(ftruncate(unsealed, off_t(Ends.size)) == 0)
            let small = port_memory_make(4_096)
            let other = open("/dev/null", O_RDWR)
            // Sealed against one of the two ways to change its size.
            let halfSealed = [Self.sealShrink, Self.sealGrow].map { seal -> CInt in
                let memory = Self.sealable()
                #expect(ftruncate(memory, off_t(Ends.size)) == 0 && fcntl(memory, Self.addSeals, seal) == 0)
                return memory
            }
            defer { for descriptor in [unsealed, small, other] + halfSealed { port_close(descriptor) } }
            let wrong: [[CInt]] = [
                [], [good[0]], [good[0], good[1]], good + [good[1]], [unsealed, good[1], good[2]],
                [small, good[1], good[2]], [other, good[1], good[2]], [good[0], other, good[2]],
                [good[0], good[1], good[0]], [good[1], good[1], good[2]],
                [halfSealed[0], good[1], good[2]], [halfSealed[1], good[1], good[2]],
            ]
            for descriptors in wrong {
                let error = #expect(throws: TransportError.self) {
                    try SharedMemoryTransport.take(descriptors, tellsProcessor: true, from: .unknown)
                }
                #expect(error?.code == .protocolViolation)
            }
        }

        // What the system's headers show only to those who ask for its extensions.
        private static let (addSeals, sealShrink, sealGrow): (CInt, CInt, CInt) = (1_033, 2, 4)

        /// Memory that can still be sealed.
        private static func sealable() -> CInt {
            typealias Make = @convention(c) (UnsafePointer<CChar>, CUnsignedInt) -> CInt
            guard let make = dlsym(nil, "memfd_create") else { return -1 }
            // To be closed on exec, and to be sealed.
            return unsafeBitCast(make, to: Make.self)("half-sealed", 1 | 2)
        }

        @Test("A pipe with a name, whose opening another process may hold up, is no doorbell")
        func namedPipe() throws {
            let ends = try Ends()
            defer { ends.close() }
            let directory = try TemporaryFolder()
            defer { directory.remove() }
            #expect(mkfifo(directory.path + "/pipe", 0o600) == 0)
            let pipe = open(directory.path + "/pipe", O_RDWR | O_NONBLOCK)
            defer { port_close(pipe) }
            #expect(throws: TransportError.self) {
                try SharedMemoryTransport.take(
                    [ends.descriptors[0], pipe, ends.descriptors[2]], tellsProcessor: true, from: .unknown)
            }
        }

        @Test("A peer that has its descriptions wait does not have us wait")
        func blockingDoorbell() throws {
            let ends = try Ends()
            defer { ends.close() }
            // The peer fills the doorbell that the taker rings, and makes it wait for room.
            let flags = fcntl(ends.maker.doorbell, F_GETFL)
            let bytes = [UInt8](repeating: 0, count: 8_192)
            while Glibc.write(ends.maker.doorbell, bytes, bytes.count) > 0 {}
            #expect(fcntl(ends.maker.doorbell, F_SETFL, flags & ~O_NONBLOCK) == 0)
            #expect(fcntl(ends.descriptors[1], F_SETFL, 0) == 0)
            #expect(Self.read(ends.maker, 10).0 == -Int(EAGAIN))
            #expect(Self.write(ends.taker, [1]) == 1)
            #expect(Self.read(ends.maker, 10).1 == [1])
        }
    }
#endif
