import TestSupport
import Testing

@testable import PortTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("Reading what a process prints", .bounded())
struct ProcessOutputTests {
    @Test("What a process has left behind that goes on printing is read no longer than a few seconds")
    func printingForever() async {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_IGN)
            let output = try ProcessOutput(prefix: nil)
            let other = dup(output.writing)
            output.closeWriting()
            // The task that prints may begin after the reading has ended.
            #expect(write(other, "more\nmore\n", 10) == 10)
            let printing = Task.detached {
                while write(other, "more\n", 5) > 0 { usleep(1_000) }
                return errno
            }
            await output.finish(on: EventLoop.shared)
            #expect(await printing.value == EPIPE)
            #expect(output.lines.hasPrefix("more\nmore\n"))
        }
    }

    @Test("What a process has written before its end is read, even if the thread that reads comes late to it")
    func lateReader() async throws {
        let text = String(repeating: "x", count: 60_000) + "\n"
        var isAllRead = false
        var time = Duration.zero
        // After five seconds even what the process itself has written is not waited for any more.
        repeat {
            let output = try ProcessOutput(prefix: nil)
            // Something that the process has left behind holds the pipe.
            let other = dup(output.writing)
            defer { close(other) }
            #expect(write(other, text, text.utf8.count) == text.utf8.count)
            output.closeWriting()
            let loop = ManualLoop()
            let lines = Guarded<String?>(nil)
            let start = ContinuousClock.now
            output.whenRead(on: loop) { lines.withLock { $0 = output.lines } }
            // By this clock no time is left for the thread.
            while lines.withLock({ $0 }) == nil {
                loop.advance(by: .seconds(1))
                try await Task.sleep(for: .milliseconds(1))
            }
            time = ContinuousClock.now - start
            isAllRead = lines.withLock { $0 } == text
        } while !isAllRead && time >= .seconds(5)
        #expect(isAllRead)
    }
}
