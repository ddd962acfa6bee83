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
            let printing = Task.detached {
                while write(other, "more\n", 5) > 0 { usleep(1_000) }
                return errno
            }
            await output.finish(on: EventLoop.shared)
            #expect(await printing.value == EPIPE)
            #expect(output.lines.hasPrefix("more\nmore\n"))
        }
    }
}
