import CPortShims
import DistantObjects
import PortTransport
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc

    /// The memory's descriptors cannot be transferred: the connection stays on its socket and keeps no memory.
    @Suite("Shared memory that cannot be transferred", .bounded())
    struct SharingLimitTests {
        @Test("A process without free descriptors declines the memory, and both sides stay on the socket")
        func noRoomHere() async {
            await #expect(processExitsWith: .success) {
                var configuration = Connection.Configuration.patient
                configuration.busy.frames = 64
                configuration.busy.nanoseconds = .max
                let connection = try await Connection.launch(
                    try builtProgram("FooBarServer"), environment: TestTimeout.environment,
                    configuration: configuration)
                let helper = try #require(connection.child?.pid)
                // The memory comes with three.
                Usage.exhaustDescriptors(leaving: 2)
                // It asks after the sixty-fourth frame, and the answer comes before the next one.
                for _ in 0..<100 { try await connection.ping() }
                #expect(!connection.isInSharedMemory)
                Usage.allowDescriptors()
                #expect(FileManager.default.fileExists(atPath: "/proc/\(helper)/maps"))
                await eventually("the helper keeps no memory") { Usage.sharedMemory(of: helper) == 0 }
                for _ in 0..<100 { try await connection.ping() }
                await connection.close()
                guard case .closedHere = await connection.ended else {
                    Issue.record("it had ended before")
                    return
                }
            }
        }

        @Test("Only a peer that knows the feature gets a decline")
        func declining() async {
            await #expect(processExitsWith: .success) {
                for (features, isTold) in [(10 as UInt64, true), (2, false)] {
                    let (raw, ours) = try RawPeerConnection.ends(.socketpair)
                    raw.send(1, RawPeer.greeting(features: features))
                    let connection = try await RawPeerConnection.adopt(ours, isInitiator: true, SharingTests.always)
                    _ = try await onThread { raw.read() }
                    raw.send(11, [1])
                    let kinds = try await onThread { [raw.read()?.kind, raw.read()?.kind] }
                    #expect(kinds.contains(17) && kinds.contains(12))
                    var frame = RawPeer.frame(17, flags: 1, descriptors: 3, [])
                    Usage.exhaustDescriptors()
                    let sent = frame.withUnsafeMutableBytes { bytes in
                        var vector = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                        return port_send(raw.descriptor, &vector, 1, [0, 1, 2], 3, false)
                    }
                    #expect(sent == 8)
                    raw.send(11, [2])
                    let first = try await onThread { raw.read() }
                    if isTold {
                        #expect(first?.kind == 17 && first?.flags == 3)
                        let second = try await onThread { raw.read() }
                        #expect(second?.kind == 12)
                    } else {
                        #expect(first?.kind == 12)
                    }
                    #expect(!connection.isInSharedMemory)
                    raw.close()
                    _ = await connection.ended
                    Usage.allowDescriptors()
                }
            }
        }

        /// SO_PASSRIGHTS, since Linux 6.16: if a socket accepts no descriptors, the sender's call fails.
        private static let passRights: CInt = 83

        private static let canRefuse: Bool = {
            let descriptor = socket(AF_UNIX, streamSocket, 0)
            defer { port_close(descriptor) }
            return refuse(descriptor)
        }()

        private static func refuse(_ descriptor: CInt) -> Bool {
            var off: CInt = 0
            return setsockopt(descriptor, SOL_SOCKET, passRights, &off, socklen_t(MemoryLayout<CInt>.size)) == 0
        }

        @Test(
            "If the system refuses to send the descriptors, the connection stays on the socket",
            .enabled(if: canRefuse, "this system always sends descriptors"))
        func notSent() async {
            await #expect(processExitsWith: .success) {
                let (raw, ours) = try RawPeerConnection.ends(.socketpair)
                #expect(Self.refuse(raw.descriptor))
                raw.send(1, RawPeer.greeting(features: 11))
                let connection = try await RawPeerConnection.adopt(
                    ours, isInitiator: false, Connection.Configuration.patient)
                _ = try await onThread { raw.read() }
                // The request, and other frames around it.
                raw.send(RawPeer.frame(11, [1]) + RawPeer.frame(17, flags: 0, []) + RawPeer.frame(11, [2]))
                let answers = try await onThread { (0..<3).map { _ in raw.readWhole() } }
                #expect(
                    answers == [RawPeer.frame(12, [1]), RawPeer.frame(17, flags: 1, []), RawPeer.frame(12, [2])])
                await eventually("the memory is freed") { Usage.sharedMemory() == 0 }
                raw.send(11, [3])
                let pong = try await onThread { raw.readWhole() }
                #expect(pong == RawPeer.frame(12, [3]))
                #expect(!connection.isInSharedMemory)
                // It cannot switch to memory that it did not get.
                raw.send(17, flags: 2, [])
                guard case .protocolViolation = await connection.ended else {
                    Issue.record("it was not refused")
                    return
                }
                #expect(connection.statistics.isAtRest)
                raw.close()
            }
        }

        @Test("Memory that the peer declines is freed, and the connection goes on")
        func declined() async {
            await #expect(processExitsWith: .success) {
                let taker = try await SharingAbuseTests.Taker()
                // In this process, and in the test's own peer.
                #expect(Usage.sharedMemory() == 2)
                taker.raw.send(17, flags: 3, [])
                await eventually("the memory is freed") { Usage.sharedMemory() == 1 }
                taker.raw.send(11, [1])
                let pong = try await onThread { taker.raw.read() }
                #expect(pong?.kind == 12)
                taker.raw.send(17, flags: 3, [])
                guard case .protocolViolation = await taker.connection.ended else {
                    Issue.record("it was not refused")
                    return
                }
                taker.close()
            }
        }
    }
#endif
