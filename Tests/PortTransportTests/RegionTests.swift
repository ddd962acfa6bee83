import CPortShims
import TestSupport
import Testing

@testable import PortTransport

#if canImport(Glibc)
    import Glibc

    /// Regions beneath a channel, with a peer that may do anything with them.
    @Suite("Regions of shared memory", .bounded())
    struct RegionTests {
        /// The two ends of a direction: the maker of the memory writes, and the taker reads.
        struct Ends {
            let ends: SharedPathTests.Ends
            /// What the writer said on the socket.
            let said = Said()

            final class Said {
                var bytes: [RegionByte] = []
                var descriptors: [CInt] = []
            }

            init() throws {
                ends = try SharedPathTests.Ends()
                ends.taker.admitRegions()
            }

            var writer: SharedMemoryTransport { ends.maker }
            var reader: SharedMemoryTransport { ends.taker }

            func send(_ byte: RegionByte, _ descriptor: CInt) -> Bool {
                said.bytes.append(byte)
                if descriptor >= 0 { said.descriptors.append(dup(descriptor)) }
                return true
            }

            /// Has the writer offer a region, and the reader take it.
            func agree() throws {
                #expect(writer.streamed(8 << 20, regionAfter: 2 << 20, send: send))
                let descriptor = try #require(said.descriptors.last)
                try reader.takeRegion([descriptor])
            }

            /// Fills the next piece with a byte; false if none is free.
            func fill(_ byte: UInt8, _ count: Int, most: Int = Region.pieces) -> Bool {
                guard case .piece(let piece) = writer.messageRoom(most: most) else { return false }
                piece[..<count].initializeMemory(as: UInt8.self, repeating: byte)
                writer.pieceIsFilled()
                return true
            }

            /// Reads the next piece.
            func read(_ count: Int) throws -> [UInt8] {
                var bytes = [UInt8](repeating: 0, count: count)
                try bytes.withUnsafeMutableBytes { try reader.readPiece(into: $0) }
                return bytes
            }

            /// The ring is read, and so the reader takes as many pieces as a region has.
            func beginRead() { _ = SharedPathTests.read(reader, 1) }

            func close() {
                ends.close()
                for descriptor in said.descriptors { port_close(descriptor) }
            }

            /// The peer's words for the pieces that it has read, and its answer.
            var taken: UnsafeMutableRawPointer { ends.memory + 256 + 128 }
        }

        @Test("Large messages take the ring until the reader has taken a region")
        func agreementInRegion() throws {
            let ends = try Ends()
            defer { ends.close() }
            #expect(!ends.fill(1, 10))
            // A little is not worth a region.
            #expect(!ends.writer.streamed(1 << 20, regionAfter: 2 << 20, send: ends.send))
            #expect(ends.writer.streamed(1 << 20, regionAfter: 2 << 20, send: ends.send))
            #expect(!ends.fill(1, 10))
            try ends.reader.takeRegion(ends.said.descriptors)
            #expect(ends.fill(1, 10))
            ends.beginRead()
            #expect(try ends.read(10) == [UInt8](repeating: 1, count: 10))
            // One is enough.
            #expect(!ends.writer.streamed(64 << 20, regionAfter: 2 << 20, send: ends.send))
            #expect(ends.said.bytes == [.offer])
        }

        @Test("A reader that knows no regions, or could not take one, gets no offers")
        func unwantedInRegion() throws {
            let plain = try SharedPathTests.Ends()
            defer { plain.close() }
            #expect(!plain.maker.streamed(64 << 20, regionAfter: 2 << 20) { _, _ in true })
            let ends = try Ends()
            defer { ends.close() }
            #expect(ends.writer.streamed(8 << 20, regionAfter: 2 << 20, send: ends.send))
            // Its descriptor was lost on the way.
            try ends.reader.takeRegion(nil)
            #expect(!ends.fill(1, 10))
            #expect(!ends.writer.streamed(64 << 20, regionAfter: 2 << 20, send: ends.send))
            // The writer cannot know yet that it was not taken.
            try ends.reader.releaseRegion()
            #expect(!ends.writer.streamed(64 << 20, regionAfter: 2 << 20, send: ends.send))
        }

        @Test("Pieces are used again once they are read, and the writer is notified")
        func usedAgainInRegion() throws {
            let ends = try Ends()
            defer { ends.close() }
            try ends.agree()
            let doorbell = SharedPathTests.Listener(ends.writer.doorbell)
            for round in 0..<UInt8(5) {
                for index in 0..<Region.pieces {
                    #expect(ends.fill(round &* 16 &+ UInt8(index), Region.pieceSize))
                }
                #expect(!ends.fill(0, 1))
                #expect(!doorbell.hears)
                ends.beginRead()
                for index in 0..<Region.pieces {
                    let bytes = try ends.read(Region.pieceSize)
                    let expected = round &* 16 &+ UInt8(index)
                    #expect(bytes.allSatisfy { $0 == expected })
                    // Once for each request.
                    #expect(doorbell.hears == (index == 0))
                }
            }
            // Fewer may wait while other frames come and go.
            #expect(ends.fill(1, 10, most: 2) && ends.fill(2, 10, most: 2) && !ends.fill(3, 10, most: 2))
        }

        @Test("An idle region is released by both sides, and a later burst gets another")
        func releaseInRegion() throws {
            let ends = try Ends()
            defer { ends.close() }
            try ends.agree()
            #expect(ends.fill(1, 10))
            #expect(ends.writer.releaseRegionIfIdle(send: ends.send))
            // Not before it is read.
            #expect(ends.writer.releaseRegionIfIdle(send: ends.send))
            ends.beginRead()
            _ = try ends.read(10)
            #expect(!ends.writer.releaseRegionIfIdle(send: ends.send))
            #expect(ends.said.bytes == [.offer, .release])
            try ends.reader.releaseRegion()
            #expect(!ends.fill(1, 10))
            try ends.agree()
            #expect(ends.fill(7, 20))
            ends.beginRead()
            #expect(try ends.read(20) == [UInt8](repeating: 7, count: 20))
        }

        @Test("A peer has half of the regions that the others leave, and each has one")
        func mostInRegion() async {
            await #expect(processExitsWith: .success) {
                var kept: [Region] = []
                var taken: [Region] = []
                var descriptors: [CInt] = []
                // The last ones get one each, until nothing is left.
                for (peer, share) in [128, 64, 32, 16, 8, 4, 4, 0].enumerated() {
                    let peer = PeerIdentity.process(CInt(peer + 1))
                    var own: [Region] = []
                    while let (region, descriptor) = Region.make(for: peer) {
                        own.append(region)
                        descriptors.append(descriptor)
                    }
                    #expect(own.count * Region.size == share << 20)
                    while let region = try Region.take(descriptors[0], from: peer) { taken.append(region) }
                    kept += own
                    #expect(kept.count == taken.count)
                }
                #expect(kept.count * Region.size == 256 << 20)
                taken = []
                kept = []
                #expect(Self.mappings == 0)
                #expect(
                    try Region.take(descriptors[0], from: .process(9)) != nil && Region.make(for: .process(9)) != nil)
            }
        }

        /// Files that are no region.
        enum Wrong: CaseIterable {
            case ring, unsealed, small, large, holes, hugePages, file, pipe
        }

        @Test("A region that its sender could change beneath its reader is refused", arguments: Wrong.allCases)
        func foreignInRegion(_ wrong: Wrong) throws {
            var ends: [CInt] = [-1, -1]
            let file: CInt
            switch wrong {
            case .ring: file = port_memory_make(Region.size)
            case .unsealed: file = Self.memory(Region.size, seals: 0)
            case .small: file = Self.memory(Region.size - 4_096, seals: Self.allSeals)
            case .large: file = Self.memory(Region.size + 4_096, seals: Self.allSeals)
            case .holes: file = Self.memory(Region.size, seals: Self.allSeals, allocates: false)
            // MFD_HUGETLB: exists even where no such pages are reserved.
            case .hugePages: file = Self.memory(Region.size, seals: Self.allSeals, flags: 4, allocates: false)
            case .file: file = open("/dev/null", O_RDWR | O_CLOEXEC)
            case .pipe:
                #expect(port_pipe(&ends) == 0)
                file = ends[0]
            }
            defer { for descriptor in [file, ends[1]] where descriptor >= 0 { port_close(descriptor) } }
            // A kernel without huge pages has no such file.
            guard file >= 0 || wrong != .hugePages else { return }
            let pair = try Ends()
            defer { pair.close() }
            let error = #expect(throws: TransportError.self) { try pair.reader.takeRegion([file]) }
            #expect(error?.code == .protocolViolation)
        }

        @Test("Memory for the rings that lies in huge pages is refused")
        func hugeRings() throws {
            let file = Self.memory(2 << 20, seals: Self.allSeals, flags: 4, allocates: false)
            guard file >= 0 else { return }
            defer { port_close(file) }
            #expect(port_memory_map(file, 2 << 20) == nil)
            #expect(errno == EINVAL)
        }

        @Test("Only its maker can write a region, and nobody can take pages away from it")
        func seals() throws {
            let (region, descriptor) = try #require(Region.make(for: .unknown))
            defer { port_close(descriptor) }
            #expect(mmap(nil, Region.size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) == MAP_FAILED)
            #expect(pwrite(descriptor, "x", 1, 0) < 0)
            #expect(ftruncate(descriptor, 0) < 0)
            // FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
            #expect(Self.change(descriptor, 3, 0, 4_096) < 0)
            // MADV_REMOVE
            #expect(madvise(region.piece(0).baseAddress, 4_096, 9) < 0)
            region.piece(0)[0] = 5
            let taken = try #require(try Region.take(descriptor, from: .unknown))
            #expect(taken.piece(0)[0] == 5)
            // It may change while it is read, and so is copied once.
            region.piece(0)[0] = 6
            #expect(taken.piece(0)[0] == 6)
        }

        @Test("Regions that nobody asked for, and pieces that do not exist, are refused")
        func unasked() throws {
            let ends = try Ends()
            defer { ends.close() }
            func expectRefusal(_ body: () throws -> Void) {
                let error = #expect(throws: TransportError.self) { try body() }
                #expect(error?.code == .protocolViolation)
            }
            ends.beginRead()
            expectRefusal { _ = try ends.read(1) }
            expectRefusal { try ends.reader.takeRegion([]) }
            try ends.agree()
            expectRefusal { try ends.reader.takeRegion(ends.said.descriptors) }
            expectRefusal { try ends.reader.takeRegion([ends.said.descriptors[0], ends.said.descriptors[0]]) }
            expectRefusal { _ = try ends.read(Region.pieceSize + 1) }
            // No more in one read than the writer can have filled.
            ends.beginRead()
            for _ in 0..<Region.pieces { _ = try ends.read(1) }
            expectRefusal { _ = try ends.read(1) }
            try ends.reader.releaseRegion()
            ends.beginRead()
            expectRefusal { _ = try ends.read(1) }
            // Nor from a reader that admits none.
            expectRefusal { try ends.writer.takeRegion(ends.said.descriptors) }
        }

        @Test("Words of the reader that cannot be right are an error", arguments: [UInt64.max, 5, 1 << 40])
        func invalidWords(value: UInt64) throws {
            let ends = try Ends()
            defer { ends.close() }
            try ends.agree()
            for _ in 0..<Region.pieces { #expect(ends.fill(1, 1)) }
            ends.taken.storeBytes(of: value, as: UInt64.self)
            guard case .broken = ends.writer.messageRoom(most: Region.pieces) else {
                Issue.record("it was believed")
                return
            }
        }

        /// `fallocate`, which the headers show only to those who ask for the system's extensions.
        private static func change(_ file: CInt, _ mode: CInt, _ offset: Int, _ count: Int) -> CInt {
            typealias Change = @convention(c) (CInt, CInt, Int, Int) -> CInt
            guard let change = dlsym(nil, "fallocate") else { return -2 }
            return unsafeBitCast(change, to: Change.self)(file, mode, offset, count)
        }

        private static let allSeals: CInt = 1 | 2 | 4 | 16

        private static func memory(_ size: Int, seals: CInt, flags: CUnsignedInt = 0, allocates: Bool = true) -> CInt {
            typealias Make = @convention(c) (UnsafePointer<CChar>, CUnsignedInt) -> CInt
            guard let make = dlsym(nil, "memfd_create") else { return -1 }
            let file = unsafeBitCast(make, to: Make.self)("no-region", 1 | 2 | flags)
            guard file >= 0 else { return -1 }
            #expect(ftruncate(file, off_t(size)) == 0)
            if allocates { #expect(change(file, 0, 0, size) == 0) }
            // F_ADD_SEALS
            if seals != 0 { #expect(fcntl(file, 1_033, seals) == 0) }
            return file
        }

        /// Mappings of such memory in this process; only in its own process nobody else has any.
        private static var mappings: Int {
            guard let maps = fopen("/proc/self/maps", "r") else { return -1 }
            defer { fclose(maps) }
            var line = [CChar](repeating: 0, count: 512)
            var count = 0
            while fgets(&line, 512, maps) != nil {
                let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                if text.contains("distant-objects") { count += 1 }
            }
            return count
        }
    }
#endif
