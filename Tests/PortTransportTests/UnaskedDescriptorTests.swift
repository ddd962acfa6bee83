#if os(Linux)
    import CPortShims
    import Glibc
    import TestSupport
    import Testing

    @testable import PortTransport

    /// Peers that send descriptors nobody asked for, above all ones whose close takes long.
    @Suite("Descriptors that were not asked for", .serialized, .bounded())
    struct UnaskedDescriptorTests {
        static let takesNone = ChannelConfiguration(acceptsDescriptors: false)

        /// As on a kernel that cannot refuse them.
        static let sifts: ChannelConfiguration = {
            var configuration = takesNone
            configuration.asksKernel = false
            return configuration
        }()

        /// Whether this kernel can refuse them.
        static let kernelRefuses: Bool = {
            guard let (first, second) = try? ChannelEndpoint.socketPairDescriptors() else { return false }
            defer { for end in [first, second] { close(end) } }
            return port_pass_descriptors(first, false) == 0
        }()

        /// Sends a byte with a descriptor; 1, or minus an `errno`.
        static func send(_ descriptor: CInt, over socket: CInt) -> Int {
            var byte: UInt8 = 1
            return withUnsafeMutableBytes(of: &byte) { bytes in
                var vector = iovec(iov_base: bytes.baseAddress, iov_len: 1)
                return Link.socket(socket).send(&vector, 1, [descriptor], withCredentials: false)
            }
        }

        /// A loop that nobody takes over, and two channels that use it.
        struct Bystanders {
            let loop: EventLoop
            let a: Channel
            let b: Channel
            let here = Recorder()
            let there = Recorder()

            init() throws {
                loop = try EventLoop(configuration: EventLoop.Configuration(takeover: .seconds(3_600)))
                let (first, second) = try ChannelEndpoint.socketPair()
                a = Channel(endpoint: first, loop: loop, configuration: UnaskedDescriptorTests.takesNone)
                b = Channel(endpoint: second, loop: loop, configuration: UnaskedDescriptorTests.takesNone)
                a.start(here)
                b.start(there)
            }

            /// Runs `body` while the loop reads nothing.
            func hold(_ body: () -> Void) async {
                let gate = EventLoopTests.Gate()
                await withCheckedContinuation { continuation in
                    loop.perform {
                        continuation.resume()
                        gate.wait()
                    }
                }
                body()
                gate.release()
            }

            /// Sends a frame through the loop, which does not come while that waits for the close, and ends both
            /// channels.
            func expectPrompt(_ slow: SlowSocket) async {
                a.send([1])
                await there.wait(forItems: 1)
                #expect(there.items.count == 1)
                slow.release()
                await end(a, b, here, there)
                loop.stop()
            }
        }

        @Test("A kernel that can refuses them, and the peer's write fails", .enabled(if: kernelRefuses))
        func refusedInUnaskedDescriptor() async throws {
            let (mine, theirs) = try ChannelEndpoint.socketPairDescriptors()
            let there = Recorder()
            let b = Channel(endpoint: try .socket(theirs), loop: EventLoop.shared, configuration: Self.takesNone)
            b.start(there)
            #expect(Self.send(mine, over: mine) == -Int(EPERM))
            let bytes = FrameReaderTests.frame(1, 0, [1])
            #expect(write(mine, bytes, bytes.count) == bytes.count)
            await there.wait(forItems: 1)
            #expect(there.items.count == 1)
            close(mine)
            await there.waitForEnd()
            withExtendedLifetime(b) {}
        }

        @Test(
            "One that came before the channel was made breaks the protocol and is closed elsewhere",
            arguments: [takesNone, sifts])
        func early(configuration: ChannelConfiguration) async throws {
            let bystanders = try Bystanders()
            let (mine, theirs) = try ChannelEndpoint.socketPairDescriptors()
            let slow = try SlowSocket()
            #expect(slow.pass { Self.send($0, over: mine) } == 1)
            let there = Recorder()
            let b = Channel(endpoint: try .socket(theirs), loop: bystanders.loop, configuration: configuration)
            b.start(there)
            if case .failed(let error)? = await there.waitForEnd() {
                #expect(error.code == .protocolViolation)
            } else {
                Issue.record("\(there.ends)")
            }
            await bystanders.expectPrompt(slow)
            close(mine)
            withExtendedLifetime(b) {}
        }

        @Test("On a kernel that cannot refuse them, one that comes at any time is closed elsewhere")
        func received() async throws {
            let bystanders = try Bystanders()
            let (mine, theirs) = try ChannelEndpoint.socketPairDescriptors()
            let there = Recorder()
            let b = Channel(endpoint: try .socket(theirs), loop: bystanders.loop, configuration: Self.sifts)
            b.start(there)
            let bytes = FrameReaderTests.frame(1, 0, [1])
            #expect(write(mine, bytes, bytes.count) == bytes.count)
            await there.wait(forItems: 1)
            let slow = try SlowSocket()
            // Nobody may read it before this end has closed its own.
            await bystanders.hold { #expect(slow.pass { Self.send($0, over: mine) } == 1) }
            await bystanders.expectPrompt(slow)
            await there.waitForEnd()
            close(mine)
            withExtendedLifetime(b) {}
        }

        @Test("One that was not read is closed elsewhere when its channel ends")
        func unreadInUnaskedDescriptor() async throws {
            let bystanders = try Bystanders()
            let (mine, theirs) = try ChannelEndpoint.socketPairDescriptors()
            // More than one read takes lies before it.
            let bytes = FrameReaderTests.frame(1, 0, [1]) + [UInt8](repeating: 0, count: 100_000)
            #expect(Glibc.send(mine, bytes, bytes.count, CInt(MSG_DONTWAIT)) == bytes.count)
            let slow = try SlowSocket()
            #expect(slow.pass { Self.send($0, over: mine) } == 1)
            let there = Recorder(onFrame: { _, _, _ in throw TransportError(.handlerFailed, "It is not wanted.") })
            let b = Channel(endpoint: try .socket(theirs), loop: bystanders.loop, configuration: Self.sifts)
            b.start(there)
            await there.waitForEnd()
            await bystanders.expectPrompt(slow)
            close(mine)
            withExtendedLifetime(b) {}
        }

        @Test("A pipe is closed at once, however many closes wait for what is behind them")
        func manySlow() throws {
            // More than there are threads for.
            let slow = try (0..<70).map { _ in try SlowSocket() }
            for socket in slow { socket.give { Channel.closeForeign([$0]) } }
            var ends: [CInt] = [-1, -1]
            try #require(port_pipe(&ends) == 0)
            let last = try SlowSocket()
            last.give { Channel.closeForeign([$0, ends[1]]) }
            var byte: UInt8 = 0
            // The end of the stream, because nobody has the other end.
            #expect(read(ends[0], &byte, 1) == 0)
            for socket in slow + [last] { socket.release() }
            close(ends[0])
        }
    }

    /// A TCP socket whose last close waits, for longer than any test, for a peer that reads nothing.
    final class SlowSocket: @unchecked Sendable {  // Used by one test at a time.
        static let seconds = 2 * Int(TestTimeout.test.components.seconds)

        private let descriptor: CInt
        private let peer: CInt

        init() throws {
            let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
            let listener = socket(AF_INET, type, 0)
            defer { close(listener) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let sending = socket(AF_INET, type, 0)
            let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(listener, $0, length) == 0 && listen(listener, 1) == 0
                        && getsockname(listener, $0, &length) == 0 && connect(sending, $0, length) == 0
                }
            }
            try #require(isConnected)
            peer = port_accept(listener)
            try #require(peer >= 0)
            var waits = linger(l_onoff: 1, l_linger: CInt(Self.seconds))
            setsockopt(sending, SOL_SOCKET, SO_LINGER, &waits, socklen_t(MemoryLayout<linger>.size))
            let bytes = [UInt8](repeating: 0, count: 1 << 16)
            while send(sending, bytes, bytes.count, CInt(MSG_DONTWAIT)) > 0 {}
            descriptor = sending
        }

        /// Hands it to `send`, and keeps none: who closes it next is the last.
        func pass(_ send: (CInt) -> Int) -> Int {
            defer { close(descriptor) }
            return send(descriptor)
        }

        /// Hands it to `body`, which closes it: nobody else has it.
        func give(_ body: (CInt) -> Void) { body(descriptor) }

        /// Ends the close that waits.
        func release() { close(peer) }
    }
#endif
