import DistantObjects
import Foundation
import KeyedArchive

/// A `Bar` of `Foo` objects, compared with Foundation's archiver.
struct ObjectSamples {
    let count: Int

    init(foos count: Int) { self.count = count }

    func measure(_ bench: ArchiveBench) async throws {
        let count = count
        let bar = Bar(count: count)
        let other = FoundationBar(count: count)
        let formats = [ArchiveFormat.compact, .binary, .xml]
        var writers = formats.map { format in
            ArchiveWay.nanoseconds("\(format)", perObject: count) { try KeyedArchiver.archive(bar, format: format) }
        }
        writers.append(
            .nanoseconds("foundation", perObject: count) {
                try NSKeyedArchiver.archivedData(withRootObject: other, requiringSecureCoding: true)
            })
        try await bench.compare("archive-write", metric: "ns_per_object", against: "foundation", writers)

        var readers = try formats.map { format in
            let bytes = try KeyedArchiver.archive(bar, format: format)
            return ArchiveWay.nanoseconds("\(format)", perObject: count) {
                let bar = try KeyedUnarchiver.unarchive(Bar.self, from: bytes)
                guard bar.foos.count == count else { throw BenchError("a Bar has lost Foos") }
                return bar
            }
        }
        let data = try NSKeyedArchiver.archivedData(withRootObject: other, requiringSecureCoding: true)
        readers.append(
            .nanoseconds("foundation", perObject: count) {
                let bar = try NSKeyedUnarchiver.unarchivedObject(ofClass: FoundationBar.self, from: data)
                guard bar?.foos.count == count else { throw BenchError("Foundation's Bar has lost Foos") }
                return bar
            })
        try await bench.compare("archive-read", metric: "ns_per_object", against: "foundation", readers)
    }
}

/// The same content as `Codable` values, compared with Foundation's coders for those.
struct CodableSamples {
    let count: Int

    init(foos count: Int) { self.count = count }

    func measure(_ bench: ArchiveBench) async throws {
        let count = count
        let bar = CodableBar(count: count)
        let formats = [ArchiveFormat.compact, .binary, .xml]
        let json = JSONEncoder()
        let plist = PropertyListEncoder()
        plist.outputFormat = .binary
        var writers = formats.map { format in
            ArchiveWay.nanoseconds("\(format)", perObject: count) { try KeyedArchiver.archive(bar, format: format) }
        }
        writers.append(.nanoseconds("json", perObject: count) { try json.encode(bar) })
        writers.append(.nanoseconds("plist", perObject: count) { try plist.encode(bar) })
        try await bench.compare("codable-write", metric: "ns_per_object", against: "json", writers)

        var readers = try formats.map { format in
            let bytes = try KeyedArchiver.archive(bar, format: format)
            return ArchiveWay.nanoseconds("\(format)", perObject: count) {
                try check(KeyedUnarchiver.unarchive(CodableBar.self, from: bytes))
            }
        }
        let jsonData = try json.encode(bar)
        let plistData = try plist.encode(bar)
        readers.append(
            .nanoseconds("json", perObject: count) {
                try check(JSONDecoder().decode(CodableBar.self, from: jsonData))
            })
        readers.append(
            .nanoseconds("plist", perObject: count) {
                try check(PropertyListDecoder().decode(CodableBar.self, from: plistData))
            })
        try await bench.compare("codable-read", metric: "ns_per_object", against: "json", readers)
    }

    private func check(_ bar: CodableBar) throws -> CodableBar {
        guard bar.foos.count == count else { throw BenchError("a Bar has lost Foos") }
        return bar
    }
}

/// Bytes, compared with a copy of them into fresh memory.
struct DataSamples {
    let count: Int

    init(bytes count: Int) { self.count = count }

    func measure(_ bench: ArchiveBench) async throws {
        let data = Data(repeating: 7, count: count)
        let formats = [ArchiveFormat.compact, .binary]
        let copy = gigabytes("memcpy") {
            let copy = copyIntoFreshMemory(data)
            defer { copy.deallocate() }
            // Without this read, the compiler would remove the copy.
            guard copy.load(fromByteOffset: count - 1, as: UInt8.self) == 7 else { throw BenchError("bytes are lost") }
        }
        let writers = formats.map { format in
            gigabytes("\(format)") { _ = try KeyedArchiver.archive(data, format: format) }
        }
        try await bench.compare(
            "data-write", metric: "GB_per_s", against: "memcpy", higherIsBetter: true, writers + [copy])
        let readers = try formats.map { format in
            let bytes = try KeyedArchiver.archive(data, format: format)
            return gigabytes("\(format)") {
                guard try KeyedUnarchiver.unarchive(Data.self, from: bytes).count == count else {
                    throw BenchError("bytes are lost")
                }
            }
        }
        try await bench.compare(
            "data-read", metric: "GB_per_s", against: "memcpy", higherIsBetter: true, readers + [copy])
    }

    @inline(never)
    private func copyIntoFreshMemory(_ data: Data) -> UnsafeMutableRawPointer {
        data.withUnsafeBytes { bytes in
            let memory = UnsafeMutableRawPointer.allocate(byteCount: bytes.count, alignment: 16)
            memory.copyMemory(from: bytes.baseAddress ?? UnsafeRawPointer(memory), byteCount: bytes.count)
            return memory
        }
    }

    private func gigabytes(_ format: String, _ body: @escaping () throws -> Void) -> ArchiveWay {
        let count = count
        return ArchiveWay(format) {
            let start = processorTime()
            try body()
            return Double(count) / Double(processorTime() - start)
        }
    }
}
