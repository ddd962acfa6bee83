#if os(Linux)
    import CPortShims
    import DistantObjects
    import FoundationEssentials
    import Glibc
    import TestSupport
    import Testing

    /// Peers that send descriptors with frames that should have none.
    @Suite("Unexpected descriptors", .bounded(), .serialized)
    struct UnaskedDescriptorTests {
        /// Whether this kernel can refuse descriptors.
        static let kernelRefuses: Bool = {
            let probe = socket(AF_UNIX, streamSocket, 0)
            defer { close(probe) }
            return port_pass_descriptors(probe, false) == 0
        }()

        /// Sends bytes with a descriptor.
        ///
        /// Returns 0 or an `errno`.
        static func send(_ bytes: [UInt8], with descriptor: CInt, over raw: RawPeer) -> CInt {
            var bytes = bytes
            return bytes.withUnsafeMutableBytes { bytes in
                var vector = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                var descriptor = descriptor
                return port_send(raw.descriptor, &vector, 1, &descriptor, 1, false) == bytes.count ? 0 : errno
            }
        }

        @Test("A client cannot send descriptors, neither before nor after its Hello", .enabled(if: kernelRefuses))
        func connecting() async throws {
            let place = try TemporaryFolder()
            let listener = try Listener(at: .path(place.socket), configuration: .patient)
            let raw = try RawPeer(connectingTo: place.socket)
            #expect(Self.send(RawPeer.frame(1, RawPeer.hello), with: 0, over: raw) == EPERM)
            let serving = Task {
                for await connection in listener { connection.vend(Directory()) }
            }
            raw.send(1, RawPeer.hello)
            #expect(try await onThread { raw.read()?.kind } == 1)
            #expect(Self.send(RawPeer.frame(2, RawPeer.call()), with: 0, over: raw) == EPERM)
            // A request without a descriptor is answered.
            raw.send(2, RawPeer.call())
            #expect(try await onThread { raw.read()?.kind } == 3)
            listener.close()
            raw.close()
            await serving.value
        }

        @Test("A listener cannot send descriptors to a client", .enabled(if: kernelRefuses))
        func listeningInUnaskedDescriptor() async throws {
            let place = try TemporaryFolder()
            let listener = port_bind(place.socket, 0o600)
            try #require(listener >= 0 && port_listen(listener, 1) == 0)
            async let opening = Connection.open(.path(place.socket), configuration: .patient)
            #expect(try await onThread { RawPeer.awaitInput(listener) })
            let raw = RawPeer(descriptor: port_accept(listener))
            #expect(Self.send(RawPeer.frame(1, RawPeer.hello), with: 0, over: raw) == EPERM)
            raw.send(1, RawPeer.hello)
            let connection = try await opening
            #expect(Self.send(RawPeer.frame(1, RawPeer.hello), with: 0, over: raw) == EPERM)
            raw.close()
            _ = await connection.ended
            close(listener)
        }

        @Test(
            "After adoption a socketpair accepts no descriptors, and those sent before end the connection",
            .enabled(if: kernelRefuses))
        func adoptedInUnaskedDescriptor() async throws {
            let bereaved = try await RawPeerConnection(.socketpair)
            #expect(Self.send(RawPeer.frame(3, RawPeer.result()), with: 0, over: bereaved.raw) == EPERM)
            bereaved.raw.close()
            await bereaved.expectEnd(RawPeerConnection.isLost)

            let (raw, ours) = try RawPeerConnection.ends(.socketpair)
            #expect(Self.send(RawPeer.frame(1, RawPeer.hello), with: 0, over: raw) == 0)
            await expectCode(.protocolViolation) {
                _ = try await RawPeerConnection.adopt(ours, isInitiator: true, Connection.Configuration.patient)
            }
            raw.close()
        }

        @Test(
            "On a kernel that cannot refuse descriptors, they end only their own connection",
            arguments: [false, true])
        func olderKernel(greets: Bool) async throws {
            var configuration = Connection.Configuration.patient
            configuration.asksKernel = false
            let pair = try await Pair(client: configuration, server: configuration)
            let (raw, ours) = try RawPeerConnection.ends(.socketpair)
            let adopting = Task { try await RawPeerConnection.adopt(ours, isInitiator: true, configuration) }
            #expect(try await onThread { raw.read()?.kind } == 1)
            if greets {
                raw.send(1, RawPeer.hello)
                let connection = try await adopting.value
                #expect(Self.send(RawPeer.frame(2, RawPeer.call()), with: 0, over: raw) == 0)
                guard case .protocolViolation = await connection.ended else {
                    Issue.record("it was not refused")
                    return
                }
            } else {
                #expect(Self.send(RawPeer.frame(1, RawPeer.hello), with: 0, over: raw) == 0)
                await expectCode(.protocolViolation) { _ = try await adopting.value }
            }
            _ = try await pair.client.root
            await pair.close()
        }
    }
#endif
