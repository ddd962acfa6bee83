import ArchiveFixtures
import Foundation
import TestSupport
import Testing

@testable import KeyedArchive

@Suite("NIBArchives as graphs")
struct NIBArchiveGraphTests {
    private typealias Bytes = NIBArchiveBytes

    /// Looks at everything; the number of values.
    @discardableResult
    private static func use(_ graph: NIBArchiveGraph) -> Int {
        var values = 0
        for object in graph.objects {
            _ = graph.classes[object.classIndex].name.string
            for field in object.fields {
                values += 1
                if case .reference(let object) = field.value { _ = graph.objects[object] }
                _ = field.key.string
            }
        }
        for type in graph.classes { for fallback in type.fallbacks { _ = graph.classes[fallback] } }
        return values
    }

    @Test("Each well-formed NIBArchive is detected and opens")
    func goodInNIBArchiveGraph() throws {
        let archives = try Fixtures.nibArchives()
        #expect(Fixtures.isCount(archives.count, ofOthers: 58 + 3 + 2, own: 6))
        for archive in archives {
            #expect(ArchiveFormat(detecting: archive.bytes) == .nibArchive, "\(archive.name)")
            do {
                let graph = try NIBArchiveGraph(archive.data)
                #expect([9, 10].contains(graph.coderVersion), "\(archive.name)")
                Self.use(graph)
            } catch {
                Issue.record("\(archive.name): \(error)")
            }
        }
    }

    @Test("Each malformed NIBArchive is refused with the place of the first byte that is wrong")
    func malformedInNIBArchiveGraph() throws {
        let archives = try Fixtures.brokenNIBArchives()
        #expect(Fixtures.isCount(archives.count, ofOthers: 14, own: 23))
        for archive in archives {
            let error = #expect(throws: ArchiveError.self, "\(archive.name)") {
                _ = try NIBArchiveGraph(archive.bytes)
            }
            #expect(error?.message.contains(", at byte ") == true, "\(archive.name): \(error?.message ?? "")")
        }
    }

    @Test("A NIBArchive that is cut anywhere, or has another byte somewhere, opens, or is refused")
    func changedInNIBArchiveGraph() throws {
        for position in Bytes.mixed.indices {
            if let graph = try? NIBArchiveGraph(Array(Bytes.mixed[..<position])) { Self.use(graph) }
            for change: UInt8 in [0x01, 0x04, 0x80, 0xFF] {
                var changed = Bytes.mixed
                changed[position] ^= change
                if let graph = try? NIBArchiveGraph(changed) { Self.use(graph) }
            }
        }
    }

    @Test("Values keep their widths and bits, and equal keys are not folded")
    func valuesInNIBArchiveGraph() throws {
        let graph = try NIBArchiveGraph(Bytes.mixed)
        let root = graph.objects[0]
        guard case .data(let bytes) = root.fields[8].value, case .data(let text) = graph.objects[2].fields[0].value
        else {
            Issue.record("there are no bytes")
            return
        }
        #expect(
            root.fields.map(\.value) == [
                .int8(-1), .int16(256), .int32(.min), .int64(7), .bool(false), .bool(true), .float(bits: 0x3F80_0000),
                .double(bits: 0x7FF8_0000_0000_0000), .data(bytes), .null, .reference(1),
            ])
        #expect(Array(bytes.data) == [1, 2] && text.string == "é")
        let array = graph.objects[1]
        #expect(
            array.fields.map { $0.key.string } == ["NSInlinedValue"]
                + [String](repeating: "UINibEncoderEmptyKey", count: 3))
        #expect(array.fields.map(\.value) == [.bool(true), .reference(2), .reference(2), .null])
        #expect(graph.classes.map { $0.name.string } == ["NSObject", "NSArray", "NSString"])
        #expect(graph.classes[1].fallbacks == [0])
    }

    @Test("An error names the part and the byte, and says what was expected")
    func errorsInNIBArchiveGraph() {
        func message(_ bytes: [UInt8]) -> String {
            do { _ = try NIBArchiveGraph(bytes) } catch { return "\(error)" }
            return "no error"
        }
        let keys = Bytes.Table([Bytes.key("a")])
        #expect(
            message(Bytes.file(keys: keys, values: .init([Bytes.value(0, 9), Bytes.value(1, 9)])))
                == "value 1 of 2: expected a key below 1, found 1, at byte 57")
        #expect(
            message(Bytes.file(keys: keys, values: .init([Bytes.value(0, 10, Bytes.number(4))])))
                == "value 0 of 1: expected an object below 1, found 4, at byte 57")
        #expect(
            message(Bytes.file(format: 2)).hasPrefix("expected version 1 of the NIBArchive format, found 2, at byte "))
    }

    @Test("The coders with keys and keyed graphs say what a NIBArchive is")
    func otherDoorsInNIBArchiveGraph() {
        for body in [
            { _ = try ArchivedGraph(Bytes.mixed) }, { _ = try KeyedUnarchiver(Bytes.mixed) },
            { _ = try KeyedArchiver.archive(1, format: .nibArchive) },
            { _ = try ArchivedGraph().bytes(format: .nibArchive) },
        ] as [() throws -> Void] {
            let error = #expect(throws: ArchiveError.self) { try body() }
            #expect(error?.code == .unsupported && error?.message.contains("NIBArchiveGraph") == true)
        }
    }

    @Test("The limits hold: bytes, objects and strings")
    func limitsInNIBArchiveGraph() {
        func code(_ change: (inout ArchiveLimits) -> Void) -> ArchiveError.Code? {
            var limits = ArchiveLimits()
            change(&limits)
            do { _ = try NIBArchiveGraph(Bytes.mixed, limits: limits) } catch { return (error as? ArchiveError)?.code }
            return nil
        }
        #expect(code { $0.bytes = Bytes.mixed.count - 1 } == .limit)
        #expect(code { $0.objects = 2 } == .limit)
        #expect(code { $0.string = 19 } == .limit)
        #expect(code { ($0.bytes, $0.objects, $0.string) = (Bytes.mixed.count, 3, 20) } == nil)
    }

    @Test(
        "Opening takes at most eight times the file and 16 MiB",
        .disabled(if: Sanitizer.isActive, "sanitizers need more memory than that"))
    func memoryInNIBArchiveGraph() async throws {
        await #expect(processExitsWith: .success) {
            let count = 1_000_000
            let objects = Bytes.file(objects: .init(Array(repeating: Bytes.object(0, 0, 0), count: count)))
            let values = Bytes.file(
                keys: .init([Bytes.key("a")]), values: .init(Array(repeating: Bytes.value(0, 9), count: count)))
            for bytes in [objects, values] {
                let growth = PeakMemory.growth { _ = try? NIBArchiveGraph(bytes) }
                #expect(growth < 8 * bytes.count + 16 << 20, "\(growth >> 20) MiB for \(bytes.count >> 20) MiB")
            }
        }
    }
}
