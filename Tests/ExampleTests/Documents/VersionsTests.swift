import DistantObjects
import KeyedArchive
import TestSupport
import Testing

@Suite("The code of the guide on versions")
struct VersionsTests {
    @Test("Values: the second version reads what the first one wrote, and the reverse")
    func valuesInVersions() throws {
        let job = try VersionsCode.upgrade()
        #expect(job.path == "a" && job.mode == .fast && job.note == nil && job.retries == 3 && job.tags == [])
        let bytes = try KeyedArchiver.archive(VersionsCode.Second.Job(path: "b", mode: .exact, tags: ["x"]))
        let old = try KeyedUnarchiver.unarchive(VersionsCode.First.Job.self, from: bytes)
        #expect(old.path == "b" && old.mode == .unknown)
        #expect(!VersionsCode.First.only.isSupported(old))
    }

    @Test("A program of another version is refused, and gets the rule's sentence", arguments: ["2.1", "2.0"])
    func tooOldInVersions(version: String) async throws {
        var helper = Connection.Configuration.patientExample
        helper.programName = "helper"
        helper.programVersion = version
        do {
            let (tool, other) = try await Connection.pair(
                first: VersionsCode.configuration().withLongTimeouts, second: helper)
            #expect(version == "2.1")
            await tool.close()
            await other.close()
        } catch let error as ConnectionError {
            #expect(version == "2.0" && error.code == .peerRefused)
            #expect("\(error)".contains("helper 2.0 was installed beside a tool of version 2.1"))
        }
    }

    @Test("Values: a structure whose conformance alone is not isolated")
    func isolatedInVersions() throws {
        let bytes = try KeyedArchiver.archive(["name": "a"])
        let order = try KeyedUnarchiver.unarchive(VersionsCode.Order.self, from: bytes)
        #expect(order.name == "a" && order.count == 1)
    }

    @Test("Messages: a program of the first version calls one of the second")
    func messagesInVersions() async throws {
        var configuration = Connection.Configuration.patientExample
        configuration.errorTypes = [VersionsCode.First.WorksError.self]
        let (client, server) = try await Connection.pair(first: configuration, second: .patientExample)
        try server.vend(VersionsCode.Second.Works())
        let works = try await client.root(as: VersionsCode.First.WorksInterface.self)
        let job = try await works.run(.init(path: "a", mode: .fast))
        #expect(job.path == "a.done" && job.mode == .unknown)
        let guide = VersionsCode.First.only
        #expect(try await guide.run(.init(path: "full", mode: .fast), on: works) == "full")
        let broken = try await guide.run(.init(path: "broken", mode: .fast), on: works)
        #expect(broken == "WorksError: broken(part: 3)")
        await client.close()
    }

    @Test("Archives: a class decodes a key that older programs did not write, and these skip it")
    func archivesInVersions() throws {
        let old = try KeyedArchiver.archive(VersionsCode.OldShelf.Shelf(name: "a"))
        let shelf = try KeyedUnarchiver.unarchive(VersionsCode.Shelf.self, from: old)
        #expect(shelf.name == "a" && shelf.capacity == 100)
        let new = try KeyedArchiver.archive(VersionsCode.Shelf(name: "b", capacity: 5))
        #expect(try KeyedUnarchiver.unarchive(VersionsCode.Shelf.self, from: new).capacity == 5)
        #expect(try KeyedUnarchiver.unarchive(VersionsCode.OldShelf.Shelf.self, from: new).name == "b")
    }
}
