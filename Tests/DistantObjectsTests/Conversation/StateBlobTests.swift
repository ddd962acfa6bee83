import CPortShims
import TestSupport
import Testing

@testable import DistantObjects
@testable import PortTransport

#if os(Linux)
    @Suite("The state: bytes in regions of their own")
    struct StateBlobTests {
        private static let size = 256 << 10

        /// Two sides in shared memory.
        private func pair(limits: ConnectionLimits = ConnectionLimits()) throws -> (StateSide, StateSide) {
            let (client, server) = try StateSide.pair(limits: limits, busy: .always)
            for side in [client, server] { side.state.session.memory.sharing.phase = .done }
            return (client, server)
        }

        /// Bytes in a region of one side; the other side answers an offer.
        private func blob(
            _ count: Int = size, from side: StateSide, to other: StateSide, isTaken: Bool = true
        ) throws -> SharedBytes? {
            switch side.transition({ state, actions in state.takeBlob(count, side.host, &actions) }) {
            case .memory: return nil
            case .region(let blob): return SharedBytes(.made(blob), 0..<count)
            case .fresh(let size):
                let (memory, descriptor) = try #require(RegionMemory.make(size, for: .blobs, with: .unknown))
                defer { port_close(descriptor) }
                let blob = side.state.session.memory.offerBlob(memory, side.host)
                let room = try other.state.blobWasOffered(other.host)
                other.state.answerBlob(
                    isTaken ? try RegionMemory.take(descriptor, atMost: room, for: .blobs, from: .unknown) : nil)
                try side.receive(other.takeFrames())
                return SharedBytes(.made(blob), 0..<count)
            }
        }

        private func mayMention(_ side: StateSide, _ bytes: SharedBytes) -> Bool {
            side.state.session.memory.mayMention(bytes)
        }

        private func blobWasOffered(to side: StateSide) throws -> Int { try side.state.blobWasOffered(side.host) }

        private static func region(of bytes: SharedBytes?) throws -> MadeRegion {
            guard case .made(let blob)? = bytes?.memory else { throw CancellationError() }
            return blob.region
        }

        private func message(_ bytes: consuming SharedBytes) throws -> OutboundMessage {
            try StateSide.message("take") { try $0.encode(bytes) }
        }

        /// Calls the other side with bytes, and returns those that it gets.
        private func send(_ bytes: consuming SharedBytes, from side: StateSide, to other: StateSide) throws
            -> SharedBytes
        {
            _ = try side.call(1, message(bytes))
            try other.receive(side.takeFrames())
            let call = try #require(other.start())
            let blob = try #require(call.tables?.references.first as? SharedBlob)
            other.references = []
            call.letGoOfBlobs()
            try other.answer(call)
            return blob.bytes
        }

        /// Settles what a side has let go of, and returns its frames.
        private func settle(_ side: StateSide) -> [StateFrame] {
            side.transition { state, actions in state.settleBlobs(&actions) }
            return side.takeFrames()
        }

        @Test("A region is offered once, mentioned, given back, and used for the next bytes")
        func wholeWayInStateBlob() throws {
            let (client, server) = try pair()
            for round in 0..<3 {
                var taken: SharedBytes? = try send(
                    try #require(try blob(from: client, to: server)), from: client, to: server)
                #expect(
                    client.state.session.memory.blobs?.made.count == 1
                        && client.state.session.memory.blobs?.made[0]?.isTaken == true)
                #expect(taken?.isShared == true && server.state.session.memory.blobs?.taken[0]?.mentions == 1)
                try client.receive(server.takeFrames())
                #expect(client.answers[1] == .result, "round \(round)")
                #expect(client.state.session.memory.blobs?.usedCount == 1)
                taken = nil
                try client.receive(settle(server))
                #expect(settle(client).isEmpty)
                #expect(
                    client.state.session.memory.blobs?.usedCount == 0
                        && server.state.session.memory.blobs?.usedCount == 0)
            }
        }

        @Test("What a method has let go of is given back before its answer")
        func beforeAnswer() throws {
            let (client, server) = try pair()
            _ = try client.call(1, message(try #require(try blob(from: client, to: server))))
            try server.receive(client.takeFrames())
            let call = try #require(server.start())
            server.references = []
            call.letGoOfBlobs()
            try server.answer(call)
            #expect(server.takeKinds() == [.share, .return])
        }

        @Test("Bytes are not mentioned before their region is taken, and a refused one is not offered again at once")
        func refusedInStateBlob() throws {
            let (client, server) = try pair()
            let bytes = try #require(try blob(from: client, to: server, isTaken: false))
            #expect(!mayMention(client, bytes))
            #expect(try blob(from: client, to: server) == nil)
            client.host.now += 10_000_000_001
            let next = try #require(try blob(from: client, to: server))
            #expect(mayMention(client, next) && !mayMention(client, bytes))
        }

        @Test("Bytes that are sent back are the sender's own, and their region is used only when neither side has any")
        func back() throws {
            let (client, server) = try pair()
            var taken: SharedBytes? = try send(
                try #require(try blob(from: client, to: server)), from: client, to: server)
            #expect(mayMention(server, try #require(taken)))
            try client.receive(server.takeFrames())
            var own: SharedBytes? = try send(try #require(taken?[4_096..<20_000]), from: server, to: client)
            let region = try Self.region(of: own)
            #expect(region.number == 0 && own?.range == 4_096..<20_000)
            taken = nil
            try client.receive(settle(server))
            _ = settle(client)
            #expect(region.mentions == 0 && region.handles == 1)
            own = nil
            #expect(settle(client).isEmpty && client.state.session.memory.blobs?.usedCount == 0)
        }

        @Test("A region that is idle between two looks is released by both sides")
        func idleInStateBlob() throws {
            let (client, server) = try pair()
            var bytes = try blob(from: client, to: server)
            func look() -> [StateFrame] {
                client.transition { state, actions in state.releaseIdleBlobs(&actions) }
                return client.takeFrames()
            }
            #expect(look().isEmpty && look().isEmpty && bytes != nil)
            bytes = nil
            _ = settle(client)
            #expect(client.done.contains("watch blobs"))
            #expect(look().isEmpty)
            let frames = look()
            #expect(frames.map(\.kind) == [.share] && frames[0].flags == ShareStep.release.rawValue)
            #expect(
                client.state.session.memory.blobs?.made.isEmpty == true
                    && client.state.session.memory.blobs?.isWatched == false)
            try server.receive(frames)
            #expect(server.state.session.memory.blobs?.taken.isEmpty == true)
        }

        @Test("A side offers as many bytes as its limit at most, and releases what is free to make room")
        func bytesInStateBlob() throws {
            var limits = ConnectionLimits()
            limits.sharedBytes = 64 << 20
            let (client, server) = try pair(limits: limits)
            var first = try blob(40 << 20, from: client, to: server)
            #expect(first != nil)
            #expect(try blob(40 << 20, from: client, to: server) == nil)
            #expect(
                try blob(65 << 20, from: client, to: server) == nil && blob(1 << 10, from: client, to: server) == nil)
            first = nil
            // Another size, for which the first region is too large.
            let other = try blob(5 << 20, from: client, to: server)
            #expect(other != nil && client.state.session.memory.blobs?.made.count == 2)
            // Nothing is released for what would not fit anyway.
            #expect(try blob(60 << 20, from: client, to: server) == nil && client.takeFrames().isEmpty)
            #expect(try blob(50 << 20, from: client, to: server) != nil)
            let frames = client.takeFrames()
            #expect(frames.map(\.flags) == [ShareStep.release.rawValue])
            #expect(client.state.session.memory.blobs?.made.count == 2)
        }

        @Test("The initiator asks for shared memory when its program makes bytes, however slow the traffic is")
        func asks() throws {
            var slow = BusyTraffic()
            slow.nanoseconds = 0
            let (client, server) = try StateSide.pair(busy: slow)
            for side in [client, server] {
                side.host.now += 1_000_000_000
                #expect(try side.receive(StateFrame(.ping, 1)) == .none)
                #expect(try blob(from: side, to: side) == nil)
                #expect(try side.receive(StateFrame(.ping, 2)) == (side === client ? .expectMemory : .none))
            }
        }

        @Test("A side waits with offers when many are not answered")
        func offersInStateBlob() throws {
            let (client, _) = try pair()
            var kept: [MadeBlob] = []
            while case .fresh(let size) = client.transition({ state, actions in
                state.takeBlob(Self.size, client.host, &actions)
            }) {
                let (memory, descriptor) = try #require(RegionMemory.make(size, for: .blobs, with: .unknown))
                port_close(descriptor)
                kept.append(client.state.session.memory.offerBlob(memory, client.host))
            }
            #expect(kept.count == 16)
        }

        @Test("References to bytes count, so that a peer cannot make this side keep any number")
        func manyInStateBlob() throws {
            var limits = ConnectionLimits()
            limits.references = 3
            let (client, server) = try pair(limits: limits)
            let bytes = try #require(try blob(from: client, to: server))
            let message = try StateSide.message("take") { try $0.encode([bytes, bytes, bytes, bytes]) }
            _ = try client.call(1, message)
            try server.receive(client.takeFrames())
            let call = try #require(server.start())
            #expect(call.tables?.fault != nil)
            server.done = []
            _ = settle(server)
            #expect(server.state.session.memory.blobs?.mentions == 0)
        }

        @Test("References to bytes that are sent back count as well")
        func manyBack() throws {
            var limits = ConnectionLimits()
            limits.references = 3
            let (client, server) = try pair(limits: limits)
            let taken = try send(try #require(try blob(from: client, to: server)), from: client, to: server)
            try client.receive(server.takeFrames())
            let message = try StateSide.message("take") { try $0.encode([taken, taken, taken, taken]) }
            _ = try server.call(1, message)
            try client.receive(server.takeFrames())
            let call = try #require(client.start())
            #expect(call.tables?.fault != nil)
            client.done = []
            _ = settle(client)
            #expect(client.state.session.memory.blobs?.held == 0)
            withExtendedLifetime(taken) {}
        }

        enum Fault: CaseIterable, Sendable {
            case answerOutOfTurn, answerToNothing, givesBackTooMuch, givesBackTwice, givesBackNothing, givesBackUnknown
            case releasesUsed, releasesUnknown, mentionsUnknown, mentionsBeyond, mentionsNothing, mentionsFar
            case sendsBackUnknown, sendsBackGivenBack, offersTooMany
        }

        @Test("A peer that breaks a rule is refused", arguments: Fault.allCases)
        func faults(_ fault: Fault) throws {
            let (client, server) = try pair()
            let bytes = try #require(try blob(from: client, to: server))
            let taken = try send(bytes, from: client, to: server)
            try client.receive(server.takeFrames())
            func share(_ step: ShareStep, _ numbers: UInt64..., to side: StateSide) throws {
                var frame = StateFrame(.share, flags: step.rawValue)
                frame.bytes = numbers.flatMap { RawPeer.number($0) }
                try side.receive(frame)
            }
            func mention(_ kind: UInt8, _ numbers: UInt64..., to side: StateSide) throws {
                var frame = StateFrame(.call)
                frame.bytes = RawPeer.call(references: [1, kind] + numbers.flatMap { RawPeer.number($0) })
                try side.receive(frame)
            }
            #expect(throws: ProtocolViolation.self) {
                switch fault {
                case .answerOutOfTurn: try share(.take, 5, to: client)
                case .answerToNothing: try share(.refuse, 1, to: client)
                case .givesBackTooMuch: try share(.giveBack, 0, 2, to: client)
                case .givesBackTwice:
                    try share(.giveBack, 0, 1, to: client)
                    try share(.giveBack, 0, 1, to: client)
                case .givesBackNothing: try share(.giveBack, 0, 0, to: client)
                case .givesBackUnknown: try share(.giveBack, 1, 1, to: client)
                case .releasesUsed: try share(.release, 0, to: server)
                case .releasesUnknown: try share(.release, 1, to: server)
                case .mentionsUnknown: try mention(6, 1, 0, 1, to: server)
                case .mentionsBeyond: try mention(6, 0, 1, UInt64(Self.size), to: server)
                case .mentionsNothing: try mention(6, 0, 0, 0, to: server)
                case .mentionsFar: try mention(6, 0, .max, 2, to: server)
                case .sendsBackUnknown: try mention(7, 1, 0, 1, to: client)
                case .sendsBackGivenBack:
                    try share(.giveBack, 0, 1, to: client)
                    try mention(7, 0, 0, 1, to: client)
                case .offersTooMany:
                    server.host.writtenFrames = 0
                    for _ in 0..<17 {
                        _ = try server.state.blobWasOffered(server.host)
                        server.state.answerBlob(nil)
                    }
                }
            }
            withExtendedLifetime(taken) {}
        }

        @Test("Without the feature nothing is offered, and every step is refused", arguments: [4, 5, 6, 7] as [UInt8])
        func notAgreedInStateBlob(flags: UInt8) throws {
            let (client, server) = try StateSide.pair()
            #expect(try blob(from: client, to: server) == nil)
            var frame = StateFrame(.share, flags: flags)
            frame.bytes = [0, 0]
            let error = #expect(throws: ProtocolViolation.self) { try client.receive(frame) }
            #expect(error?.reason == .unknownName)
            #expect(throws: ProtocolViolation.self) { _ = try blobWasOffered(to: server) }
        }

        @Test("The end empties the tables, and the bytes stay where they are")
        func endInStateBlob() throws {
            let (client, server) = try pair()
            let taken = try send(try #require(try blob(from: client, to: server)), from: client, to: server)
            for side in [client, server] {
                side.transition { state, actions in
                    _ = state.endCalls(side.host, "", &actions, because: .closedHere)
                    state.end(&actions)
                }
                #expect(side.state.session.memory.blobs == nil)
            }
            #expect(taken.count == Self.size && taken[Self.size - 1] == 0)
        }
    }
#endif
