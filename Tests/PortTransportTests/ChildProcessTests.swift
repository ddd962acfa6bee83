import CPortShims
import PortTransport
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

@Suite("Child processes", .bounded())
struct ChildProcessTests {
    @Test("A child starts in the directory it is given, and writes its errors to the descriptor it is given")
    func surroundings() async throws {
        let directory = try TemporaryFolder()
        let path = directory.path + "/errors"
        let errors = open(path, O_RDWR | O_CREAT, 0o600)
        try #require(errors >= 0)
        defer { close(errors) }
        for transport in [ChildProcess.Transport.socketpair, .pipes] {
            ftruncate(errors, 0)
            lseek(errors, 0, SEEK_SET)
            let (child, endpoint) = try ChildProcess.launch(
                "/bin/sh", arguments: ["-c", "pwd -P >&2"], in: directory.path, standardError: errors, over: transport)
            #expect(await child.waitForExit() == .exited(0))
            let said = FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
            let real = try #require(realpath(directory.path, nil))
            defer { free(real) }
            #expect(said == String(cString: real) + "\n")
            withExtendedLifetime(endpoint) {}
        }
        #expect(throws: TransportError.self) { try ChildProcess.launch("/bin/sh", in: directory.path + "/none") }
        #expect(throws: TransportError.self) { try ChildProcess.launch("/bin/sh", standardError: 99_999) }
    }

    @Test("A program is named by its path, or by its name if it stands beside this one")
    func located() throws {
        #expect(try ChildProcess.located("/bin/sh") == Array("/bin/sh".utf8))
        let relative = try String(decoding: ChildProcess.located("./tool"), as: UTF8.self)
        #expect(relative.hasSuffix("/./tool") && relative.hasPrefix("/"))
        let error = #expect(throws: TransportError.self) { try ChildProcess.located("no-such-helper") }
        #expect(error?.code == .launchFailed && error?.message.contains("no such program in /") == true)
    }

    @Test("A zero byte in what a program is given, or a variable's name that is none, is an error", arguments: 0..<10)
    func zeroBytes(number: Int) throws {
        var options = ChildProcess.Options()
        if number == 6 { options.argumentBytes = [[65, 0]] }
        if number == 7 { options.environmentBytes = [[65, 0]: []] }
        if number == 8 { options.environmentBytes = [[65]: [0]] }
        let error = #expect(throws: TransportError.self) {
            try ChildProcess.launch(
                number == 0 ? "/bin/sh\0" : "/bin/sh", arguments: number == 1 ? ["-c", "a\0b"] : [],
                environment: number == 2
                    ? ["A\0": ""]
                    : number == 3 ? ["A": "b\0"] : number == 4 ? ["A=B": "c"] : number == 5 ? ["": "c"] : [:],
                in: number == 9 ? "/\0tmp" : nil, options: options)
        }
        #expect(error?.code == .launchFailed)
        if ![4, 5].contains(number) {
            #expect(error?.message.contains("zero byte") == true, "\(error?.message ?? "")")
        }
        #expect(throws: TransportError.self) { try ChildProcess.located("tool\0") }
    }

    @Test("Descriptors are passed by name also by a process that may have few")
    func fewDescriptors() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            #if canImport(Glibc)
                try #require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            #else
                try #require(setrlimit(RLIMIT_NOFILE, &limit) == 0)
            #endif
            var ends: [CInt] = [-1, -1]
            try #require(port_pipe(&ends) == 0)
            var options = ChildProcess.Options()
            options.descriptors = ["output": ends[1]]
            let (child, _) = try ChildProcess.launch(
                "/bin/sh", arguments: ["-c", "printf %s \"$DISTANT_OBJECTS_DESCRIPTORS\" >&4"], options: options)
            #expect(await child.waitForExit() == .exited(0))
            var bytes = [UInt8](repeating: 0, count: 64)
            let count = read(ends[0], &bytes, bytes.count)
            #expect(String(decoding: bytes[..<max(0, count)], as: UTF8.self) == "4:output")
        }
    }

    #if os(Linux)
        @Test("Arguments and variables reach a program byte for byte, also those that it inherits")
        func bytesInChildProcess() async {
            await #expect(processExitsWith: .success) {
                let folder = try TemporaryFolder()
                let inherited: [CChar] = [-1, -61, 65, 0]
                setenv("INHERITED", inherited, 1)
                setenv("REPLACED", "old", 1)
                let strange: [UInt8] = [0xFF, 0xC3, 0x28, 0x3D, 0x0A]
                var options = ChildProcess.Options()
                options.argumentBytes = [strange, []]
                options.environmentBytes = [[0xFE]: strange, Array("LATER".utf8): [0x80]]
                // A letter and its accent are not one character for the system.
                let accent = "e\u{301}"
                for way in ["cmdline", "environ"] {
                    let path = folder.path(way)
                    let errors = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
                    let (child, endpoint) = try ChildProcess.launch(
                        "/bin/cat", arguments: ["/proc/self/\(way)", "/dev/null", accent],
                        environment: ["REPLACED": "\u{E9}", "LATER": "earlier", accent: accent], standardError: errors,
                        options: options)
                    _ = await child.waitForExit()
                    close(errors)
                    withExtendedLifetime(endpoint) {}
                    let all = try #require(FileManager.default.contents(atPath: path))
                    // What the program complains about follows.
                    let parts = all.split(separator: 0, omittingEmptySubsequences: false).map { Array($0) }
                    if way == "cmdline" {
                        let words = ["/bin/cat", "/proc/self/cmdline", "/dev/null", accent].map { Array($0.utf8) }
                        #expect(Array(parts.prefix(6)) == words + [strange, []])
                    } else {
                        #expect(parts.contains(Array("INHERITED=".utf8) + [0xFF, 0xC3, 65]))
                        #expect(parts.contains([0xFE, 0x3D] + strange))
                        #expect(parts.contains(Array("\(accent)=\(accent)".utf8)))
                        #expect(parts.contains(Array("REPLACED=\u{E9}".utf8)))
                        #expect(parts.contains(Array("LATER=".utf8) + [0x80]))
                        #expect(
                            parts.filter { $0.starts(with: "REPLACED=".utf8) || $0.starts(with: "LATER=".utf8) }.count
                                == 2)
                    }
                }
            }
        }

        @Test("A child that was reaped keeps no descriptor, however long its object is held")
        func descriptor() async {
            await #expect(processExitsWith: .success) {
                let (child, endpoint) = try ChildProcess.launch("/bin/sh", arguments: ["-c", "exec cat <&3 >&3"])
                let number = try #require(Self.descriptors(of: child.pid).first)
                child.kill()
                #expect(await child.waitForExit() == .signalled(SIGKILL))
                // A wait that begins just as the process is reaped may end before the descriptor is closed.
                while Self.process(behind: number) != nil { try await Task.sleep(for: .milliseconds(1)) }
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
