import CPortShims
import DistantObjects
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

#if os(Linux)
    /// What launched programs get, and what of it they can rely on.
    @Suite("Launched programs", .bounded())
    struct LaunchTests {
        /// A folder with the program that the tests launch, under two names: a tool and its helper.
        ///
        /// It is in the folder of the program, because both are links to it. Copies would have to be written, and a process that
        /// another test starts meanwhile could hold one open for writing; such a file cannot be run.
        private static func tools() throws -> TemporaryFolder {
            let program = try builtProgram("killed-peer")
            let folder = try TemporaryFolder(in: String(program[..<(program.lastIndex(of: "/") ?? program.endIndex)]))
            for name in ["tool", "helper"] { try #require(link(program, folder.path(name)) == 0) }
            return folder
        }

        @Test("A tool whose file was replaced or removed since it started still finds the helper beside it")
        func replacedInLaunch() async throws {
            let folder = try Self.tools()
            let path = folder.path("tool")
            let connection = try await Connection.launch(
                path, environment: TestTimeout.environment, configuration: .patient)
            let tool = try await connection.root(named: "tool")
            // As a package manager does: a new file gets the name of the old one.
            try Data("another version".utf8).write(to: URL(filePath: folder.path("new")))
            #expect(rename(folder.path("new"), path) == 0)
            let first: [String] = try await tool.launch("helper")
            #expect(first.count == 3)
            #expect(unlink(path) == 0)
            let second: [String] = try await tool.launch("helper")
            #expect(second.count == 3)
            await connection.close()
        }

        @Test("A tool finds its helper in a folder, and is given arguments, whose names are not UTF-8")
        func namesInLaunch() async throws {
            let folder = try Self.tools()
            let name = Array("\(folder.path)/".utf8) + [0xFF, 0xC3]
            let inner = name.map { CChar(bitPattern: $0) } + [0]
            try #require(mkdir(inner, 0o700) == 0)
            let files = ["tool", "helper"].map { file in
                (folder.path(file), inner.dropLast() + Array("/\(file)".utf8CString))
            }
            for (old, new) in files { try #require(rename(old, Array(new)) == 0) }
            defer {
                for (_, new) in files { unlink(Array(new)) }
                rmdir(inner)
            }
            var options = ChildProcess.Options()
            options.argumentBytes = [name + Array("/tool".utf8)]
            let connection = try await Connection.launch(
                "/bin/sh", arguments: ["-c", #"exec "$0""#], environment: TestTimeout.environment, options: options,
                configuration: .patient)
            let streams: [String] = try await connection.root(named: "tool").launch("helper")
            #expect(streams.count == 3)
            await connection.close()
        }

        @Test("Processes that were started without standard streams listen, connect, launch and print")
        func closedStreams() async throws {
            let folder = try TemporaryFolder()
            for (transport, closing) in [(ChildProcess.Transport.socketpair, "<&- >&- 2>&-"), (.pipes, "2>&-")] {
                var configuration = Connection.Configuration.patient
                configuration.busy = .always
                let connection = try await Connection.launch(
                    "/bin/sh", arguments: ["-c", #"exec "$0" "# + closing, try builtProgram("killed-peer")],
                    environment: TestTimeout.environment, over: transport, configuration: configuration)
                while transport == .socketpair, !connection.isInSharedMemory { try await connection.ping() }
                let tool = try await connection.root(named: "tool")
                let back: Int = try await tool.listen(folder.socket)
                #expect(back == 7)
                try await tool.say("out of place")
                // The helper of such a process has streams.
                let helper: [String] = try await tool.launch("killed-peer")
                #expect(helper.allSatisfy { $0 == "/dev/null" }, "\(helper)")
                let streams: [String] = try await tool.streams()
                #expect(streams.allSatisfy { $0 == "/dev/null" }, "\(streams)")
                await connection.close()
            }
        }

        @Test("A helper reads nothing, prints to standard error, and has a process group of its own")
        func defaultsInLaunch() async throws {
            let connection = try await Connection.launch(
                try builtProgram("killed-peer"), environment: TestTimeout.environment, configuration: .patient)
            let child = try #require(connection.child)
            let streams: [String] = try await connection.root(named: "tool").streams()
            let error = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/2")
            #expect(streams == ["/dev/null", error, error])
            #expect(getpgid(child.pid) == child.pid && child.pid != getpgrp())
            await connection.close()
        }

        @Test("By its options a helper has other streams and the group of its tool; over pipes it has the channel")
        func options() async throws {
            let folder = try TemporaryFolder()
            var files: [CInt] = []
            for name in ["in", "out"] { files.append(open(folder.path(name), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)) }
            defer { for file in files { close(file) } }
            var options = ChildProcess.Options()
            options.standardInput = files[0]
            options.standardOutput = files[1]
            options.sharesProcessGroup = true
            let connection = try await Connection.launch(
                try builtProgram("killed-peer"), environment: TestTimeout.environment, standardError: files[0],
                options: options, configuration: .patient)
            let streams: [String] = try await connection.root(named: "tool").streams()
            #expect(streams == [folder.path("in"), folder.path("out"), folder.path("in")])
            #expect(getpgid(try #require(connection.child).pid) == getpgrp())
            await connection.close()
            let shared = options
            await expectCode(.transport) {
                _ = try await Connection.launch("/bin/cat", over: .pipes, options: shared, configuration: .patient)
            }
            options = ChildProcess.Options()
            options.sharesProcessGroup = true
            let piped = try await Connection.launch(
                try builtProgram("killed-peer"), environment: TestTimeout.environment, over: .pipes, options: options,
                configuration: .patient)
            #expect(getpgid(try #require(piped.child).pid) == getpgrp())
            await piped.close()
        }

        @Test("A refused listener names the process that has the path, its program and its version")
        func holderInLaunch() async throws {
            let folder = try TemporaryFolder()
            let (child, _) = try ChildProcess.launch(
                try builtProgram("FooBarServer"), arguments: ["--path", folder.socket])
            let client = try await Connection.open(
                .path(folder.socket), timeout: TestTimeout.wait, configuration: .patient)
            let error = #expect(throws: ConnectionError.self) { try Listener(at: .path(folder.socket)) }
            #expect(
                error?.message
                    == "another listener has this path: process \(child.pid) (FooBarServer, version 1)")
            child.kill()
            _ = await child.waitForExit()
            _ = await client.ended
            let listener = try Listener(at: .path(folder.socket))
            listener.close()
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        }
    }
#endif
