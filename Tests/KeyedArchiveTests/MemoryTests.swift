import ArchiveFixtures
import Foundation
import TestSupport
import Testing

@testable import KeyedArchive

/// Broken and hostile archives must not cost their reader memory, whatever they claim.
@Suite(
    "Memory that broken and hostile archives take",
    .disabled(if: Sanitizer.isActive, "sanitizers need more memory than that"))
struct MemoryTests {
    /// More than enough for any of them.
    private static let most = 64 << 20

    /// Opens an archive as a graph and as values, and writes the graph again.
    private static func open(_ bytes: [UInt8]) {
        if let graph = try? ArchivedGraph(bytes, anyArchiver: true) {
            for format in [ArchiveFormat.binary, .xml, .compact] { _ = try? graph.bytes(format: format) }
            _ = graph.description
        }
        guard let unarchiver = try? KeyedUnarchiver(bytes) else { return }
        for key in unarchiver.keys {
            _ = try? unarchiver.decode(PropertyList.self, forKey: key)
            _ = try? unarchiver.decode([String: PropertyList].self, forKey: key)
            _ = try? unarchiver.decode([[String]].self, forKey: key)
            _ = try? unarchiver.decode(Foo.self, forKey: key)
            _ = try? unarchiver.decode(Everything.self, forKey: key)
        }
    }

    private static func check(_ name: String, _ bytes: [UInt8]) {
        let growth = PeakMemory.growth { open(bytes) }
        #expect(growth < most, "\(name): \(growth >> 20) MiB")
    }

    @Test("None of the broken archives takes more than 64 MiB")
    func fixturesInMemory() async throws {
        await #expect(processExitsWith: .success) {
            let archives = try Fixtures.malformed()
            #expect(Fixtures.isCount(archives.count, ofOthers: 229, own: 200))
            for archive in archives { Self.check(archive.name, archive.bytes) }
        }
    }

    @Test("None of our own archives takes more than 64 MiB, except one of that size")
    func handMadeInMemory() async throws {
        await #expect(processExitsWith: .success) {
            for (name, bytes) in HandMade.greedy { Self.check(name, bytes) }
            let honest = try KeyedArchiver.archive([Data](repeating: Data(count: 16 << 20), count: 5))
            let growth = PeakMemory.growth { _ = try? KeyedUnarchiver.unarchive([Data].self, from: honest + []) }
            #expect(growth > Self.most, "the peak is not measured: \(growth >> 20) MiB")
        }
    }
}
