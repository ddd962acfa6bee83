import ArchiveFixtures
import Foundation
import TestSupport
import Testing

@testable import KeyedArchive

@Suite("What hostile and huge typedstreams cost")
struct TypedStreamLimitTests {
    private typealias Bytes = TypedStreamBytes

    /// A chain of objects, each of which is the only value of the one in front of it.
    private static func chain(_ count: Int) -> [UInt8] {
        let link = [0x84] + Bytes.reference(1) + Bytes.reference(0)
        return Bytes.file(Bytes.new("@"), Bytes.object("A"), Bytes.reference(0))
            + Array(repeatElement(link, count: count - 1).joined())
            + Bytes.null + [UInt8](repeating: 0x86, count: count)
    }

    /// Opens a file, writes it and looks at everything.
    private static func use(_ bytes: [UInt8]) throws -> (labels: Int, values: Int) {
        let graph = try TypedStreamGraph(bytes)
        #expect(try graph.bytes() == bytes)
        var values = 0
        for group in graph.groups { for _ in group.values { values += 1 } }
        for label in graph.labels {
            guard case .object(let object) = label else { continue }
            for group in object.groups { for _ in group.values { values += 1 } }
        }
        return (graph.labels.count, values)
    }

    @Test("A million objects, each inside the other, are read and written")
    func deepObjects() throws {
        let (labels, values) = try Self.use(Self.chain(1_000_000))
        #expect(labels == 1_000_001 && values == 1_000_001)
    }

    @Test("A million open objects at the end of a file are an error")
    func cutObjects() {
        let bytes = Self.chain(1_000_000).dropLast(1_000_000)
        let error = #expect(throws: ArchiveError.self) { _ = try TypedStreamGraph(Array(bytes)) }
        #expect(error?.code == .truncated)
    }

    @Test("A chain of 20,000 classes is read and written")
    func deepClasses() throws {
        var chain: [UInt8] = []
        for number in 0..<20_000 { chain += [0x84] + Bytes.new("C\(number)") + Bytes.number(number) }
        let bytes = Bytes.file(Bytes.new("@"), [0x84], chain, Bytes.null, Bytes.end)
        let graph = try TypedStreamGraph(bytes)
        #expect(try graph.bytes() == bytes)
        guard case .type(let last) = graph.labels[20_000] else {
            Issue.record("label 20,000 is no class")
            return
        }
        #expect(last.name.string == "C19999" && last.version == 19_999 && last.superclass == nil)
    }

    @Test("30,000 structures, and as many arrays, each inside the other, are read and written")
    func deepStructures() throws {
        let count = 30_000
        let structures = String(repeating: "{a=", count: count) + "i" + String(repeating: "}", count: count)
        #expect(try Self.use(Bytes.file(Bytes.new(structures), [7])).values == 2 * count + 1)
        let arrays = String(repeating: "[1", count: count) + "i" + String(repeating: "]", count: count)
        #expect(try Self.use(Bytes.file(Bytes.new(arrays), [7])).values == 2 * count + 1)
        let empty = String(repeating: "[9999", count: count) + "!" + String(repeating: "]", count: count)
        #expect(try Self.use(Bytes.file(Bytes.new(empty))).values == 1)
    }

    @Test("The arrays of a type name what they are of, also where they repeat and stand beside one another")
    func arraysInside() throws {
        let bytes = Bytes.file(Bytes.new("[2{[2[1i]][2s]}][1[2c]]"), Array(1...8), [9, 10])
        let graph = try TypedStreamGraph(bytes)
        let types = graph.groups.flatMap { group in
            group.values.compactMap { value -> String? in
                switch value {
                case .array(_, let type): type.description
                case .bytes: "c"
                default: nil
                }
            }
        }
        let inside = ["[1i]", "i", "i", "s"]
        #expect(types == ["{[2[1i]][2s]}"] + inside + inside + ["[2c]", "c"])
    }

    @Test(
        "Arrays of nothing cost nothing",
        arguments: [
            "[999999999!]", "[99999[99999[99999!]]]", "[999999999{e=}]", "[0[4294967295@]]", "[99{a={b=[9!]}}]",
        ])
    func nothingInTypedStreamLimit(type: String) throws {
        #expect(try Self.use(Bytes.file(Bytes.new(type))).values == 1)
    }

    @Test("Arrays that promise more elements than there are bytes are refused before they are read")
    func promisesInTypedStreamLimit() {
        let nested = "[9{i[9{i[9{i[9{i[9{i[9{i[9{i[9{i@}]}]}]}]}]}]}]}]"
        for type in ["[2147483647c]", "[4294967296i]", "[999999[999999[999999[999999@]]]]", nested] {
            let bytes = Bytes.file(Bytes.new(type), [UInt8](repeating: 1, count: 1000))
            let error = #expect(throws: ArchiveError.self, "\(type)") { _ = try TypedStreamGraph(bytes) }
            #expect(error?.code == .truncated, "\(type)")
        }
    }

    @Test("Many groups of a type with thousands of structures and hardly a value are refused")
    func emptyStructures() {
        let type = String(repeating: "{}", count: 30_000)
        let groups = [UInt8](repeating: 0x92, count: 10_000)
        let error = #expect(throws: ArchiveError.self) { _ = try TypedStreamGraph(Bytes.file(Bytes.new(type), groups)) }
        #expect(error?.code == .limit)
        let loop = "[100000{" + String(repeating: "{}", count: 1_000) + "c}]"
        let values = [UInt8](repeating: 1, count: 100_000)
        let other = #expect(throws: ArchiveError.self) { _ = try TypedStreamGraph(Bytes.file(Bytes.new(loop), values)) }
        #expect(other?.code == .limit)
    }

    @Test("The limits hold: bytes, objects, strings and collections")
    func limitsInTypedStreamLimit() throws {
        func code(_ bytes: [UInt8], _ change: (inout ArchiveLimits) -> Void) -> ArchiveError.Code? {
            var limits = ArchiveLimits()
            change(&limits)
            do { _ = try TypedStreamGraph(bytes, limits: limits) } catch { return (error as? ArchiveError)?.code }
            return nil
        }
        let bytes = Bytes.file(
            Bytes.new("[5i]+"), [1, 2, 3, 4, 5], Bytes.text("abcdef"), Bytes.new("@"), Bytes.object("A"), Bytes.end)
        #expect(code(bytes) { $0.bytes = bytes.count - 1 } == .limit)
        #expect(code(bytes) { $0.objects = 1 } == .limit)
        #expect(code(bytes) { $0.string = 5 } == .limit)
        #expect(code(bytes) { $0.collection = 4 } == .limit)
        #expect(
            code(bytes) {
                ($0.bytes, $0.objects, $0.string, $0.collection) = (bytes.count, 2, 6, 5)
            } == nil)
    }

    @Test(
        "Opening and writing take at most eight times the file and 16 MiB",
        .disabled(if: Sanitizer.isActive, "sanitizers need more memory than that"))
    func memoryInTypedStreamLimit() async throws {
        await #expect(processExitsWith: .success) {
            let count = 1_000_000
            let flat = Bytes.file(
                Bytes.new("[\(count)@]"), Bytes.object("A"), Bytes.end,
                Array(repeatElement([0x84] + Bytes.reference(1) + Bytes.end, count: count - 1).joined()))
            let strings = Bytes.file(Array(repeatElement(Bytes.new("!"), count: count).joined()))
            for (name, bytes) in [("chain", Self.chain(count)), ("flat", flat), ("strings", strings)] {
                let growth = PeakMemory.growth {
                    guard let graph = try? TypedStreamGraph(bytes) else {
                        Issue.record("\(name) does not open")
                        return
                    }
                    var written = 0
                    try? graph.write { written += $0.count }
                    #expect(written == bytes.count, "\(name)")
                }
                #expect(
                    growth < 8 * bytes.count + 16 << 20, "\(name): \(growth >> 20) MiB for \(bytes.count >> 20) MiB")
            }
        }
    }
}
