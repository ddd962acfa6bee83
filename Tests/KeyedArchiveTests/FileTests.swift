import Foundation
import Testing

@testable import KeyedArchive

@Suite("Archives in files")
struct FileTests {
    private func inFolder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "archive-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }

    private func files(_ folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    @Test("Several roots are written to a file and read from it, in each format")
    func roundTripsInFile() throws {
        try inFolder { folder in
            let url = folder.appending(path: "foo2.archive")
            for format in [ArchiveFormat.compact, .binary, .xml] {
                let archiver = KeyedArchiver(format: format)
                try archiver.encode(Foo("James", 40), forKey: "myfoo")
                try archiver.encode(Bar([Foo("Juliana", 7), Foo("Nicolas", 3)]), forKey: "mybar")
                try archiver.finish(to: url)
                let unarchiver = try KeyedUnarchiver(contentsOf: url)
                #expect(unarchiver.format == format)
                #expect(try unarchiver.decode(Foo.self, forKey: "myfoo").age == 40)
                #expect(try unarchiver.decode(Bar.self, forKey: "mybar").foos.map(\.name) == ["Juliana", "Nicolas"])
                try KeyedArchiver.archive([1, 2], to: url, format: format)
                #expect(try KeyedUnarchiver.unarchive([Int].self, from: url) == [1, 2])
                #expect(try files(folder) == ["foo2.archive"])
            }
        }
    }

    @Test("Permissions are kept, and a link still leads to the file")
    func permissions() throws {
        try inFolder { folder in
            let url = folder.appending(path: "a")
            let link = folder.appending(path: "link")
            try KeyedArchiver.archive(1, to: url)
            try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: url.path)
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: url)
            try KeyedArchiver.archive(2, to: link)
            let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o640)
            #expect(try KeyedUnarchiver.unarchive(Int.self, from: url) == 2)
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == url.path)
        }
    }

    @Test("A symbolic link may lead to a file whose name is not UTF-8")
    func strangeName() throws {
        try inFolder { folder in
            let link = folder.appending(path: "link")
            let target = Array("\(folder.path)/target".utf8) + [0xFF]
            let bytes = target.map { CChar(bitPattern: $0) } + [0]
            #expect(symlink(bytes, link.path) == 0)
            try #require(fopen(bytes, "w").map { fclose($0) } == 0)
            try KeyedArchiver.archive(7, to: link)
            #expect(try KeyedUnarchiver.unarchive(Int.self, from: link) == 7)
            var status = stat()
            #expect(lstat(bytes, &status) == 0 && status.st_size > 0)
            #expect(lstat(link.path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
            #expect(unlink(bytes) == 0)
        }
    }

    @Test("No archive is read or written through the descriptor of a standard stream that is closed")
    func standardStreamsInFile() async {
        await #expect(processExitsWith: .success) {
            // Has Dispatch open its descriptors, which it keeps: now, and not under a number that is closed below.
            try await Task.sleep(for: .milliseconds(10))
            let path = "/tmp/\(UUID().uuidString)"
            defer { unlink(path) }
            for number: CInt in 1...2 {
                // Another thread of the process, such as one of Dispatch, may take the number meanwhile. An archive that
                // takes it does so each time.
                var isRefused = false
                for _ in 0..<50 where !isRefused {
                    close(number)
                    try ArchiveFile(URL(fileURLWithPath: path)).write { append in
                        // What somebody prints meanwhile.
                        isRefused = write(number, "x", 1) < 0 && errno == EBADF
                        try Array("archive".utf8).withUnsafeBytes { try append($0) }
                    }
                    #expect(FileManager.default.contents(atPath: path) == Data("archive".utf8))
                }
                #expect(isRefused)
            }
        }
    }

    @Test("A file's name may have the greatest length the system allows")
    func longName() throws {
        try inFolder { folder in
            let name = String(repeating: "n", count: 255)
            for number in 1...2 {
                try KeyedArchiver.archive(number, to: folder.appending(path: name))
                #expect(try KeyedUnarchiver.unarchive(Int.self, from: folder.appending(path: name)) == number)
            }
            #expect(try files(folder) == [name])
        }
    }

    @Test("A failed encode, a missing folder and an unsuitable file leave everything unchanged")
    func failuresInFile() throws {
        struct Failing: Encodable {
            func encode(to encoder: any Encoder) throws { throw ArchiveError(.misuse, "no") }
        }
        try inFolder { folder in
            let url = folder.appending(path: "a")
            try KeyedArchiver.archive(1, to: url)
            #expect(throws: ArchiveError.self) { try KeyedArchiver.archive(Failing(), to: url) }
            #expect(try KeyedUnarchiver.unarchive(Int.self, from: url) == 1)
            let missing = folder.appending(path: "none/a")
            var error = #expect(throws: ArchiveError.self) { try KeyedArchiver.archive(1, to: missing) }
            #expect(error?.message.contains(missing.path) == true)
            error = #expect(throws: ArchiveError.self) { try KeyedUnarchiver(contentsOf: missing) }
            #expect(error?.code == .noSuchFile)
            error = #expect(throws: ArchiveError.self) { try KeyedUnarchiver(contentsOf: folder) }
            #expect(error?.code == .file)
            error = #expect(throws: ArchiveError.self) { try KeyedArchiver.archive(1, to: folder) }
            #expect(error?.code == .file)
            #expect(try files(folder) == ["a"])
            // A pipe stays a pipe; a device would stay one, too.
            let pipe = folder.appending(path: "pipe")
            #expect(mkfifo(pipe.path, 0o600) == 0)
            error = #expect(throws: ArchiveError.self) { try KeyedArchiver.archive(1, to: pipe) }
            #expect(error?.code == .file && error?.message.contains("not an ordinary file") == true)
            let attributes = try FileManager.default.attributesOfItem(atPath: pipe.path)
            #expect(attributes[.type] as? FileAttributeType != .typeRegular)
            try FileManager.default.removeItem(at: pipe)
            #expect(try files(folder) == ["a"])
            try Data("damaged".utf8).write(to: url)
            error = #expect(throws: ArchiveError.self) { try KeyedUnarchiver(contentsOf: url) }
            #expect(error?.code == .corrupt && error?.message.contains(url.path) == true)
            try Data().write(to: url)
            error = #expect(throws: ArchiveError.self) { try KeyedUnarchiver(contentsOf: url) }
            #expect(error?.code == .truncated)
            // Refused because of its first bytes, not when a limit is reached.
            let endless = URL(fileURLWithPath: "/dev/zero")
            error = #expect(throws: ArchiveError.self) { try KeyedUnarchiver(contentsOf: endless) }
            #expect(error?.code == .corrupt && error?.message.contains(endless.path) == true)
            var limits = ArchiveLimits()
            limits.bytes = 10
            try KeyedArchiver.archive("more than ten bytes", to: url)
            error = #expect(throws: ArchiveError.self) { try KeyedUnarchiver(contentsOf: url, limits: limits) }
            #expect(error?.code == .limit)
        }
    }
}
