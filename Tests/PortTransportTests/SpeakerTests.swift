import CPortShims
import TestSupport
import Testing

@testable import PortTransport

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

#if os(Linux)
    @Suite("The process that speaks at the other end", .bounded())
    struct SpeakerTests {
        /// A frame that carries its number, and as many bytes as make it large for a socket's buffer together with others.
        private static func frame(_ number: UInt32) -> [UInt8] {
            let body =
                withUnsafeBytes(of: number.littleEndian) { Array($0) }
                + [UInt8](repeating: UInt8(number % 251), count: 996)
            return withUnsafeBytes(of: UInt32(body.count).littleEndian) { Array($0) } + [1, 0, 0, 0] + body
        }

        @Test("All that it wrote before its death comes, although the end stays open, and then the channel ends")
        func written() async throws {
            let folder = try TemporaryFolder()
            let count = 3_000
            let bytes = (0..<UInt32(count)).flatMap { Self.frame($0) }
            #expect(FileManager.default.createFile(atPath: folder.path("frames"), contents: Data(bytes)))
            let (child, endpoint) = try ChildProcess.launch(
                "/bin/sh", arguments: ["-c", "sleep 100000 & echo $! > pid; exec cat frames >&3"], in: folder.path)
            let recorder = Recorder()
            let channel = Channel(endpoint: endpoint, loop: EventLoop.shared)
            channel.start(recorder)
            guard case .endOfFile? = await recorder.waitForEnd() else {
                Issue.record("\(recorder.ends)")
                return
            }
            #expect(recorder.items.count == count)
            for (number, item) in recorder.items.enumerated() {
                guard case .frame(_, _, _, let body, _) = item, body == Array(Self.frame(UInt32(number)).dropFirst(8))
                else {
                    Issue.record("frame \(number) is another one")
                    break
                }
            }
            #expect(await child.waitForExit() == .exited(0))
            let holder = FileManager.default.contents(atPath: folder.path("pid")) ?? Data()
            let pid = try #require(Int32(String(decoding: holder, as: UTF8.self).dropLast()))
            #expect(kill(pid, SIGKILL) == 0)
        }

        @Test("A process that is reaped is known to have ended, by its descriptor and by its number")
        func numberUsedAgain() async throws {
            let loop = EventLoop.shared
            // The process that this number stood for has ended, and is reaped.
            let (child, endpoint) = try ChildProcess.launch("/bin/sh", arguments: ["-c", "exit 0"])
            let descriptor = port_process_descriptor(child.pid)
            _ = await child.waitForExit()
            if descriptor >= 0 {
                switch loop.watch(0, given: descriptor) {
                case .watched(let process):
                    while !loop.hasEnded(process) { try await Task.sleep(for: .milliseconds(1)) }
                    loop.forget(process)
                // The loop has noticed its end at once.
                case .ended: break
                case .unknown: Issue.record("it is not known")
                }
            }
            guard case .ended = loop.watch(child.pid, given: CInt(PORT_NO_PROCESS)) else {
                Issue.record("a number that nobody has is not one of a process that has ended")
                return
            }
            withExtendedLifetime(endpoint) {}
        }

        @Test("A process that one channel forgets while another begins to use it is not taken for dead")
        func shared() async {
            await withTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask {
                        for _ in 0..<5_000 {
                            guard
                                case .watched(let process) = EventLoop.shared.watch(
                                    getppid(), given: CInt(PORT_NO_PROCESS))
                            else {
                                Issue.record("it is not watched")
                                return
                            }
                            guard !EventLoop.shared.hasEnded(process) else {
                                Issue.record("it is taken for dead")
                                return
                            }
                            EventLoop.shared.forget(process)
                        }
                    }
                }
            }
        }

        @Test("Without a descriptor to spare, the process is not watched, and the channel goes on")
        func noDescriptorInSpeaker() throws {
            guard case .unknown = EventLoop.shared.watch(getppid(), given: -EMFILE) else {
                Issue.record("it is watched")
                return
            }
            guard case .unknown = EventLoop.shared.watch(0, given: CInt(PORT_NO_PROCESS)) else {
                Issue.record("a process outside the namespace is watched by its number")
                return
            }
        }
    }
#endif
