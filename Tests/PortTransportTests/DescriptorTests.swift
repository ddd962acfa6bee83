import CPortShims
import TestSupport
import Testing

@testable import PortTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("Descriptors", .serialized, .bounded())
struct DescriptorTests {
    /// A file whose size tells it from others.
    static func file(_ size: Int) throws -> CInt {
        var template = Array("/tmp/port-descriptor-XXXXXX".utf8CString)
        let file = mkstemp(&template)
        try #require(file >= 0)
        // No program that another test starts meanwhile gets it.
        try #require(fcntl(file, F_SETFD, FD_CLOEXEC) == 0)
        unlink(template)
        ftruncate(file, off_t(size))
        return file
    }

    /// Open descriptors of such files, and of the ends of the channels named.
    static func leaked(_ names: Set<String> = []) -> Int {
        OpenDescriptors.count { $0.hasPrefix("/tmp/port-descriptor-") || names.contains($0) }
    }

    /// Waits until none is left, which nothing announces.
    static func expectClosed(_ names: Set<String>) async {
        let start = ContinuousClock.now
        while leaked(names) > 0, ContinuousClock.now - start < TestTimeout.wait { await Task.yield() }
        #expect(leaked(names) == 0)
    }

    static func names(_ channels: Channel...) -> Set<String> {
        Set(channels.flatMap { [$0.link.inputDescriptor, $0.link.outputDescriptor].compactMap(OpenDescriptors.name) })
    }

    static func size(_ descriptor: CInt) -> Int {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int(status.st_size) : -1
    }

    @Test("Each frame gets its own descriptors, however the kernel merges reads")
    func matching() async throws {
        var names: Set<String> = []
        do {
            let (a, b, here, there) = try await channels(.socketpair)
            names = Self.names(a, b)
            // All in one iteration, so that several messages of 253 descriptors at most have to be made of it.
            var sent: [[Int]] = []
            for index in 0..<300 {
                let count = [0, 0, 2, 1, 5][index % 5]
                sent.append((0..<count).map { index * 10 + $0 })
                let descriptors = try sent[index].map(Self.file)
                _ = pattern(index).withUnsafeBytes {
                    a.enqueue(kind: 1, flags: 0, prefix: $0, descriptors: descriptors)
                }
                if index % 100 == 99 { a.flush() }
            }
            await there.wait(forItems: 300)
            #expect(there.items.count == 300)
            for (index, item) in there.items.enumerated() {
                guard case .frame(_, _, _, let bytes, let descriptors) = item else { continue }
                #expect(bytes == pattern(index))
                #expect(descriptors.map(Self.size) == sent[index])
                for descriptor in descriptors {
                    #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
                    close(descriptor)
                }
            }
            await end(a, b, here, there)
        }
        // Another thread of the loop may have reported the end.
        await Self.expectClosed(names)
    }

    @Test("The most descriptors a frame can carry arrive; one more ends the channel and leaks none")
    func mostInDescriptor() async throws {
        var names: Set<String> = []
        let (a, b, here, there) = try await channels(.socketpair)
        names = Self.names(a, b)
        a.send([1], descriptors: try (0..<Channel.maximumDescriptors).map(Self.file))
        await there.wait(forItems: 1)
        guard case .frame(_, _, _, _, let descriptors)? = there.items.first else { return }
        #expect(descriptors.map(Self.size) == Array(0..<253))
        for descriptor in descriptors { close(descriptor) }
        a.send([1], descriptors: try (0...Channel.maximumDescriptors).map(Self.file))
        guard case .failed(let error)? = await here.waitForEnd() else { return #expect(Bool(false)) }
        #expect(error.code == .limitExceeded)
        await there.waitForEnd()
        withExtendedLifetime(b) {}
        await Self.expectClosed(names)
    }

    @Test("Descriptors announced and not sent, and sent and not announced, break the protocol and are closed")
    func hostileInDescriptor() async throws {
        var names: Set<String> = []
        for announces in [true, false] {
            let (mine, theirs) = try ChannelEndpoint.socketPairDescriptors()
            let there = Recorder()
            let b = Channel(endpoint: try .socket(theirs), loop: EventLoop.shared)
            b.start(there)
            names.formUnion(Self.names(b))
            if announces {
                let bytes = FrameReaderTests.frame(1, 0, [1], descriptors: 1)
                #expect(write(mine, bytes, bytes.count) == bytes.count)
            } else {
                let end = Link.socket(mine)
                var byte: UInt8 = 1
                for _ in 0..<3 {
                    let descriptors = try (0..<253).map(Self.file)
                    withUnsafeMutableBytes(of: &byte) { bytes in
                        var vector = iovec(iov_base: bytes.baseAddress, iov_len: 1)
                        #expect(end.send(&vector, 1, descriptors, withCredentials: false) == 1)
                    }
                    for descriptor in descriptors { close(descriptor) }
                }
            }
            guard case .failed(let error)? = await there.waitForEnd() else { return #expect(Bool(false)) }
            #expect(error.code == .protocolViolation)
            close(mine)
        }
        // A peer's descriptors are closed by a thread of its own, which may not be there yet.
        await Self.expectClosed(names)
    }

    @Test("A pipe refuses them: sending ends the channel, and so does a peer that announces some")
    func pipesInDescriptor() async throws {
        var names: Set<String> = []
        let (a, b, here, there) = try await channels(.pipes)
        names = Self.names(a, b)
        #expect(!a.carriesDescriptors)
        a.send([1], descriptors: [try Self.file(1)])
        guard case .failed(let error)? = await here.waitForEnd() else { return #expect(Bool(false)) }
        #expect(error.code == .limitExceeded)
        await there.waitForEnd()
        withExtendedLifetime(b) {}
        await Self.expectClosed(names)
    }

    @Test("Those of frames that are not read any more are closed with the channel")
    func unreadInDescriptor() async throws {
        var names: Set<String> = []
        do {
            let (mine, theirs) = try ChannelEndpoint.socketPairDescriptors()
            let here = Recorder()
            let a = Channel(endpoint: try .socket(mine), loop: EventLoop.shared)
            a.start(here)
            names = Self.names(a)
            for _ in 0..<2_000 { a.send(pattern(1_000), descriptors: [try Self.file(1)]) }
            #expect(a.queuedBytes > 0)
            close(theirs)
            await here.waitForEnd()
        }
        // Another thread of the loop may have reported the end.
        await Self.expectClosed(names)
    }
}
