#if os(Linux)
    import CPortShims
    import Glibc
    import TestSupport
    import Testing

    @testable import PortTransport

    /// A peer that is in a system call with a pipe, and so has its lock, without end.
    @Suite("A pipe that its peer holds", .serialized, .bounded())
    struct HeldPipeTests {
        /// A page whose first use waits until `release`, as the kernel asks this process what is in it.
        ///
        /// Not every system lets a process do that where the kernel itself uses the page.
        final class MissingPage: @unchecked Sendable {  // Its parts never change.
            private static let size = 4_096

            private let fault: CInt
            let memory: UnsafeMutableRawPointer

            static let isAvailable: Bool = { MissingPage() != nil }()

            init?() {
                let device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC)
                guard device >= 0 else { return nil }
                fault = ioctl(device, UInt(0xAA00), O_CLOEXEC | O_NONBLOCK)
                close(device)
                guard fault >= 0 else { return nil }
                memory = mmap(nil, Self.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                // The version, then features and what the kernel answers.
                var handshake: (UInt64, UInt64, UInt64) = (0xAA, 0, 0)
                var range: (UInt64, UInt64, UInt64, UInt64) = (
                    UInt64(UInt(bitPattern: memory)), UInt64(Self.size), 1, 0
                )
                let isReady =
                    ioctl(fault, UInt(0xC018_AA3F), &handshake) == 0 && ioctl(fault, UInt(0xC020_AA00), &range) == 0
                guard isReady else { return nil }
            }

            deinit {
                close(fault)
                munmap(memory, Self.size)
            }

            /// Returns when somebody waits for the page.
            func awaitUse() -> Bool {
                port_wait_one(fault, UInt32(PORT_READABLE), Int64(TestTimeout.wait.nanoseconds)) > 0
            }

            /// Gives those who wait a page of zeros.
            func release() {
                var range: (UInt64, UInt64, UInt64, UInt64) = (
                    UInt64(UInt(bitPattern: memory)), UInt64(Self.size), 0, 0
                )
                #expect(ioctl(fault, UInt(0xC020_AA04), &range) == 0)
            }
        }

        @Test(
            "Other channels go on, whether it is read here or written", .enabled(if: MissingPage.isAvailable),
            arguments: [true, false])
        func heldInHeldPipe(isRead: Bool) async throws {
            let others = try HeldThreadTests.Bystanders()
            let input = try ChannelEndpoint.pipeDescriptors()
            let output = try ChannelEndpoint.pipeDescriptors()
            let there = Recorder()
            let b = Channel(endpoint: .ownPipes(reading: input.0, writing: output.1), loop: others.loop)
            let frame = FrameReaderTests.frame(1, 0, [1])
            let page = try #require(MissingPage())
            // Something has to lie in the pipe, for this end to read, or for the peer.
            let filled = isRead ? input.1 : output.1
            #expect(frame.withUnsafeBytes { write(filled, $0.baseAddress, $0.count) } == frame.count)
            let peer = Task.detached {
                await onPlainThread {
                    isRead ? write(input.1, page.memory, 100) : read(output.0, page.memory, 100)
                }
            }
            #expect(await onPlainThread { page.awaitUse() })
            b.start(there)
            others.loop.perform { b.send([1]) }
            for _ in 0..<100 { await others.exchange() }
            while others.loop.threadCount < 2 { await others.exchange() }
            for _ in 0..<100 { await others.exchange() }
            #expect(there.items.isEmpty)
            page.release()
            #expect(await peer.value > 0)
            if isRead { await there.wait(forItems: 1) }
            b.cancel(TransportError(.cancelled, "The test is over."))
            await there.waitForEnd()
            close(input.1)
            close(output.0)
            await others.end()
        }
    }
#endif
