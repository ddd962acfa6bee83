import Foundation
import KeyedArchive
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc

    @Suite("The progress line")
    struct ProgressLineTests {
        @Test("A long job shows its progress on the terminal, and clears the line before its result")
        func line() async throws {
            let scratch = try TemporaryFolder()
            let terminal = try Terminal()
            let archive = try [UInt8](SampleArchives.teams().bytes(format: .xml))
            // The input comes slowly, so the job takes as long as this test needs.
            let pipe = scratch.path("slow")
            try #require(mkfifo(pipe, 0o600) == 0)
            let program = try Program("distant", ["check", pipe], in: scratch, terminal: terminal.path)
            // Close-on-exec, so that a program of another test does not hold it open.
            let input = FileHandle(fileDescriptor: open(pipe, O_WRONLY | O_CLOEXEC), closeOnDealloc: true)
            try #require(input.fileDescriptor >= 0)
            var sent = 0
            let isSaid = try await eventually {
                // The line is thought of at each read, so there has to be one now and then. The next byte waits until
                // the last one was read: a program that starts late would else find all of them at once.
                var unread: CInt = 0
                _ = ioctl(input.fileDescriptor, UInt(FIONREAD), &unread)
                if unread == 0, sent < archive.count - 1 {
                    // Fails if the program has ended. The write below throws then.
                    guard (try? input.write(contentsOf: Data(archive[sent..<sent + 1]))) != nil else { return true }
                    sent += 1
                }
                return terminal.text.contains("distant: reading \(pipe) ")
            }
            #expect(isSaid, "\(terminal.text)")
            try input.write(contentsOf: Data(archive[sent...]))
            try input.close()
            let outcome = try await program.finish()
            #expect(outcome.status == 0, "\(outcome.output) \(terminal.text)")
            #expect(outcome.output.hasPrefix("\(pipe): "), "\(outcome.output)")
            #expect(terminal.text.hasSuffix("\r\u{1B}[K"), "\(terminal.text)")
        }
    }
#endif
