import DistantObjects
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#endif

#if os(Linux)
    /// A count that a message announces must not allocate memory for missing content, or fail if the system refuses
    /// memory.
    @Suite("Announced counts larger than the content", .serialized, .bounded())
    struct AnnouncedCountTests {
        /// Calls that announce `count` parts but contain few.
        ///
        /// In some only the method's arguments are wrong; the others break a rule of the protocol.
        private static func calls(_ count: UInt64) -> (refused: [[UInt8]], violations: [[UInt8]]) {
            let number = RawPeer.number(count)
            func call(_ name: String, _ value: [UInt8]) -> [UInt8] {
                let body = value + number + [0, 0, 0]
                return RawPeer.call(
                    slot: 1, name: [1] + RawPeer.text(name), body: [0] + RawPeer.number(UInt64(body.count)) + body)
            }
            // List, set, map, references, bytes, string, packed bytes and packed integers.
            let values: [[UInt8]] = [[0xCF], [0xD1], [0xD0], [0xD5], [0xCA], [0xC9], [0xD2, 4], [0xD2, 3]]
            let refused =
                values.flatMap { value in ["bytes", "shapes", "bar", "age"].map { call($0, value) } } + [
                    RawPeer.call(slot: 1, name: [1] + RawPeer.text("echo"), body: number + [0, 0, 0]),
                    RawPeer.call(slot: 1, name: [1] + RawPeer.text("echo"), body: [0] + number + [0, 0, 0]),
                ]
            let violations = [
                RawPeer.call(slot: 1, name: [1] + number + [0x65]),
                RawPeer.call(slot: 1, name: [1] + RawPeer.text("echo"), references: number + [0, 1, 0]),
                RawPeer.call(slot: 1, name: [1] + RawPeer.text("echo"), shapes: number + [0, 0, 0]),
                RawPeer.call(slot: 1, name: [1] + RawPeer.text("echo"), shapes: [1, 1] + number + [0, 0]),
            ]
            return (refused, violations)
        }

        /// The connection of a hostile peer, which vends a `Directory` in slot 1.
        private static func hostile() async throws -> (RawPeer, Connection) {
            let (raw, ours) = try RawPeerConnection.ends(.socketpair)
            raw.send(1, RawPeer.hello)
            let connection = try await RawPeerConnection.adopt(ours, isInitiator: false, .patient)
            connection.vend(Directory())
            raw.send(2, RawPeer.call(body: [0, 1, 0x80]))
            _ = try await onThread { [raw.read(), raw.read()] }
            return (raw, connection)
        }

        @Test(
            "An announced count allocates no memory for content that has not arrived",
            .disabled(if: Sanitizer.isActive, "sanitizers need more memory than that"))
        func refusedInAnnouncedCount() async {
            await #expect(processExitsWith: .success) {
                let (raw, connection) = try await AnnouncedCountTests.hostile()
                var limit = rlimit()
                getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
                limit.rlim_cur = rlim_t(Usage.addressSpace + (128 << 20))
                #expect(setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0)
                for count: UInt64 in [1 << 62, 1 << 40, 1 << 31, 1 << 27] {
                    let (refused, violations) = AnnouncedCountTests.calls(count)
                    for call in refused {
                        raw.send(2, call)
                        let answer: UInt8? = try await onThread {
                            while let frame = raw.read() { if frame.kind == 3 { return frame.flags } }
                            return nil
                        }
                        #expect(answer == 2, "\(call) of \(count)")
                    }
                    for call in violations {
                        let (other, ended) = try await AnnouncedCountTests.hostile()
                        other.send(2, call)
                        guard case .protocolViolation = await ended.ended else {
                            Issue.record("\(call) of \(count) was taken")
                            continue
                        }
                    }
                }
                raw.close()
                _ = await connection.ended
            }
        }
    }
#endif
