import CPortShims
import PortTransport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

@Suite("Child processes", .bounded())
struct ChildProcessTests {
    #if os(Linux)
        @Test("A child that was reaped keeps no descriptor, however long its object is held")
        func descriptor() async {
            await #expect(processExitsWith: .success) {
                let (child, endpoint) = try ChildProcess.launch("/bin/sh", arguments: ["-c", "exec cat <&3 >&3"])
                let number = try #require(Self.descriptors(of: child.pid).first)
                child.kill()
                #expect(await child.waitForExit() == .signalled(SIGKILL))
                #expect(Self.process(behind: number) == nil)
                withExtendedLifetime((child, endpoint)) {}
            }
        }

        @Test("A loop that has lost its poller reaps a child once, and not before it has ended")
        func lostPoller() async {
            await #expect(processExitsWith: .success) {
                let before = Self.descriptors(named: "anon_inode:[eventpoll]")
                let (child, endpoint) = try ChildProcess.launch("/bin/sh", arguments: ["-c", "exec cat <&3 >&3"])
                let here = Recorder()
                let channel = Channel(endpoint: endpoint, loop: EventLoop.shared)
                channel.start(here)
                channel.send([1])
                await here.wait(forItems: 1)
                for number in Self.descriptors(named: "anon_inode:[eventpoll]") where !before.contains(number) {
                    close(number)
                }
                // The loop now asks every source again and again.
                for index in 2..<20 {
                    channel.send([UInt8(index)])
                    await here.wait(forItems: index)
                }
                #expect(child.exitStatus == nil)
                child.kill()
                #expect(await child.waitForExit() == .signalled(SIGKILL))
                await here.waitForEnd()
            }
        }

        /// The descriptors of this process that stand for another one.
        private static func descriptors(of pid: Int32) -> [CInt] {
            numbers().filter { process(behind: $0) == "\(pid)" }
        }

        private static func descriptors(named name: String) -> [CInt] {
            numbers().filter {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == name
            }
        }

        private static func numbers() -> [CInt] {
            ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []).compactMap { CInt($0) }
        }

        /// The number of the process a descriptor stands for, -1 for one that was reaped; nil for any other descriptor.
        private static func process(behind number: CInt) -> String? {
            guard let data = FileManager.default.contents(atPath: "/proc/self/fdinfo/\(number)") else { return nil }
            let line = String(decoding: data, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("Pid:") }
            return line.map { String($0.dropFirst(4).drop { $0 == " " || $0 == "\t" }) }
        }
    #endif
}
