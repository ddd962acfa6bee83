import CPortShims
import TestSupport
import Testing

@testable import PortTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("Endpoints", .bounded())
struct EndpointTests {
    static func code(_ body: () throws -> Void) -> TransportError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? TransportError)?.code
        }
    }

    @Test("A path that cannot work is an error that says why and names it")
    func pathsInEndpoint() throws {
        let directory = try TemporaryFolder()
        defer { directory.remove() }
        let long = directory.path + "/" + String(repeating: "x", count: 120)
        #expect(Self.code { _ = try ChannelEndpoint.connect(path: long) } == .pathTooLong)
        #expect(Self.code { _ = try SocketListener(path: long) } == .pathTooLong)
        do { _ = try ChannelEndpoint.connect(path: long) } catch {
            #expect(error.description.contains(long) && error.message.contains("80"))
        }
        #expect(Self.code { _ = try ChannelEndpoint.connect(path: directory.path + "/none") } == .notFound)
        #expect(Self.code { _ = try ChannelEndpoint.connect(path: "") } == .notFound)
        let file = directory.path + "/file"
        close(open(file, O_CREAT | O_WRONLY, 0o600))
        #expect(Self.code { _ = try SocketListener(path: file) } == .wrongDescriptor)
        #expect(access(file, F_OK) == 0)
        unlink(file)
        #expect(Self.code { _ = try ChannelEndpoint.inherited(reading: 4_000, writing: 4_000) } == .wrongDescriptor)
    }

    @Test("A name taken twice is refused; a stale one is replaced; both files go at close")
    func namesInEndpoint() throws {
        let directory = try TemporaryFolder()
        defer { directory.remove() }
        let path = directory.path + "/s"
        let first = try SocketListener(path: path)
        var status = stat()
        #expect(lstat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(Self.code { _ = try SocketListener(path: path) } == .nameTaken)
        _ = try ChannelEndpoint.connect(path: path)
        first.close()
        first.close()
        #expect(access(path, F_OK) != 0 && access(directory.path(".s.distant-lock"), F_OK) != 0)
        // What a killed server leaves behind.
        let dead = port_bind(path, 0o600)
        close(dead)
        #expect(Self.code { _ = try ChannelEndpoint.connect(path: path) } == .nobodyListens)
        let second = try SocketListener(path: path)
        _ = try ChannelEndpoint.connect(path: path)
        second.close()
        // A listener that takes no lock is left alone.
        let foreign = port_bind(path, 0o600)
        #expect(port_listen(foreign, 1) == 0)
        #expect(Self.code { _ = try SocketListener(path: path) } == .nameTaken)
        close(foreign)
        unlink(path)
    }

    @Test("The mode of a socket's file is set, and what a link in its place leads to is left alone")
    func modes() throws {
        let directory = try TemporaryFolder()
        defer { directory.remove() }
        let (file, link) = (directory.path + "/file", directory.path + "/link")
        close(open(file, O_CREAT | O_WRONLY, 0o640))
        #expect(chmod(file, 0o640) == 0 && symlink(file, link) == 0)
        #expect(port_set_mode_at(AT_FDCWD, link, 0o600) < 0)
        var status = stat()
        #expect(lstat(file, &status) == 0 && status.st_mode & 0o777 == 0o640)
        #expect(port_set_mode_at(AT_FDCWD, file, 0o600) == 0)
        #expect(lstat(file, &status) == 0 && status.st_mode & 0o777 == 0o600)
        unlink(link)
        unlink(file)
    }

    @Test(
        "Both sides of a path socket and of a socketpair know each other; pipes do not",
        arguments: ChannelTests.Kind.allCases)
    func credentials(kind: ChannelTests.Kind) async throws {
        let (a, b, here, there) = try await channels(kind)
        a.send([1])
        b.send([1])
        await there.wait(forItems: 1)
        await here.wait(forItems: 1)
        let me = PeerCredentials(pid: getpid(), uid: geteuid(), gid: getegid())
        let isKnown = ![.memory, .splittingMemory, .pipes].contains(kind)
        #expect(a.peer == (isKnown ? me : nil))
        #expect(b.peer == (isKnown ? me : nil))
        await end(a, b, here, there)
    }

    @Test("A launched child talks over a socketpair or its standard streams, is known, and leaves no zombie")
    func childrenInEndpoint() async throws {
        for transport in [ChildProcess.Transport.socketpair, .pipes] {
            let arguments = ["-c", transport == .pipes ? "exec cat" : "exec cat <&3 >&3"]
            let (child, endpoint) = try ChildProcess.launch("/bin/sh", arguments: arguments, over: transport)
            let here = Recorder()
            let a = Channel(endpoint: endpoint, loop: EventLoop.shared)
            a.start(here)
            for index in 0..<50 { a.send(pattern(index * 100)) }
            await here.wait(forItems: 50)
            #expect(here.items.last == .frame(kind: 1, flags: 0, number: 50, pattern(4_900), descriptors: []))
            #expect(child.exitStatus == nil)
            a.finishWriting()
            guard case .endOfFile? = await here.waitForEnd() else { return #expect(Bool(false), "\(here.ends)") }
            #expect(await child.waitForExit() == .exited(0))
            #expect(kill(child.pid, 0) != 0)
        }
    }

    @Test("A child that is killed is the end of its channel, and its status says so")
    func killedInEndpoint() async throws {
        let (child, endpoint) = try ChildProcess.launch("/bin/sh", arguments: ["-c", "exec cat <&3 >&3"])
        let here = Recorder()
        let a = Channel(endpoint: endpoint, loop: EventLoop.shared)
        a.start(here)
        a.send([1])
        await here.wait(forItems: 1)
        child.kill()
        await here.waitForEnd()
        #expect(await child.waitForExit() == .signalled(SIGKILL))
        child.terminate()
        withExtendedLifetime(a) {}
    }

    #if os(Linux)
        @Test("Without descriptors a listener neither dies nor spins, and accepts when there are some again")
        func exhaustionInEndpoint() async throws {
            let directory = try TemporaryFolder()
            let path = directory.path + "/s"
            let worked = await onPlainThread { () -> Bool in
                // A table of descriptors of this thread's own, which the loop it starts shares: nobody else starves.
                guard let symbol = dlsym(nil, "unshare") else { return false }
                let unshare = unsafeBitCast(symbol, to: (@convention(c) (CInt) -> CInt).self)
                guard unshare(0x400) == 0 else { return false }
                return (try? Self.starve(path)) ?? false
            }
            #expect(worked)
            directory.remove()
        }

        private static func starve(_ path: String) throws -> Bool {
            let paused = EventLoopTests.Gate()
            let accepted = EventLoopTests.Gate()
            let stopped = EventLoopTests.Gate()
            let loop = try EventLoop()
            let listener = try SocketListener(path: path, loop: loop)
            let client = try ChannelEndpoint.connect(path: path)
            var filling: [CInt] = []
            while true {
                let copy = dup(0)
                if copy < 0 { break }
                filling.append(copy)
            }
            try listener.start { error in
                if error.errno == EMFILE { paused.release() }
            } _: { _, peer in
                if peer?.pid == getpid() { accepted.release() }
            }
            paused.wait()
            for descriptor in filling { close(descriptor) }
            accepted.wait()
            listener.close()
            loop.perform { stopped.release() }
            stopped.wait()
            loop.stop()
            return withExtendedLifetime(client) { true }
        }
    #endif

    @Test("A program that does not exist is an error, and its channel leaks nothing")
    func noProgram() {
        #expect(Self.code { _ = try ChildProcess.launch("/nowhere/tool", over: .pipes) } == .launchFailed)
        #expect(Self.code { _ = try ChildProcess.launch("/nowhere/tool") } == .launchFailed)
    }

    @Test("Pipes shared with other processes stay blocking, and work all the same")
    func inheritedPipes() async throws {
        let forth = try ChannelEndpoint.pipeDescriptors()
        let back = try ChannelEndpoint.pipeDescriptors()
        let kept = dup(back.0)
        let here = Recorder()
        let there = Recorder()
        let a = Channel(endpoint: try .inherited(reading: back.0, writing: forth.1), loop: EventLoop.shared)
        // The way without a second opening of the pipe.
        let shared = ChannelEndpoint(
            link: .streams(
                input: Link.Stream(descriptor: forth.0, isSocket: false, isShared: true),
                output: Link.Stream(descriptor: back.1, isSocket: false, isShared: true)),
            credentials: .none)
        let b = Channel(endpoint: shared, loop: EventLoop.shared)
        a.start(here)
        b.start(there)
        a.sendLarge(pattern(500_000))
        b.sendLarge(pattern(500_000))
        await here.wait(forItems: 2)
        await there.wait(forItems: 2)
        #expect(here.items.last == .largeMessage(number: 1, pattern(500_000)))
        #expect(there.items.last == .largeMessage(number: 1, pattern(500_000)))
        #expect(fcntl(kept, F_GETFL) & O_NONBLOCK == 0)
        close(kept)
        await end(a, b, here, there)
    }

    @Test("A write to a pipe that is not read raises no SIGPIPE and leaves none pending")
    func brokenPipe() async throws {
        let failed = await onPlainThread { () -> Bool in
            guard let (reading, writing) = try? ChannelEndpoint.pipeDescriptors() else { return false }
            close(reading)
            // A child that another test is starting has the reading end too, until it is another program.
            var watched = pollfd(fd: writing, events: 0, revents: 0)
            while poll(&watched, 1, 60_000) < 0, errno == EINTR {}
            var byte: UInt8 = 1
            let result = withUnsafeMutableBytes(of: &byte) { bytes in
                var vector = iovec(iov_base: bytes.baseAddress, iov_len: 1)
                return port_write(writing, &vector, 1, false)
            }
            let isBroken = result < 0 && errno == EPIPE
            close(writing)
            var pending = sigset_t()
            sigpending(&pending)
            return isBroken && sigismember(&pending, SIGPIPE) == 0
        }
        #expect(failed)
    }
}
