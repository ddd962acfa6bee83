// Feeds the readers of property lists, and their users, bytes from libFuzzer. Nothing may trap, hang or take memory
// without bound. A graph must be equal after it is written and read again, and decoded objects can be archived.
//
// Built twice: for binary property lists, and for XML with the flag FUZZ_XML, whose seeds differ.

@testable import KeyedArchive

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

final class FuzzFoo: ObjectCoding {
    static var className: String { "Foo" }
    var name: String
    var age: Int
    var extra: [String: Double]
    weak var parent: FuzzFoo?
    var child: FuzzFoo?

    init(_ name: String, _ age: Int) {
        self.name = name
        self.age = age
        extra = ["a": 1.5]
    }

    init(coder: ObjectDecoder) throws {
        name = try coder.decode(String.self, forKey: "name")
        age = try coder.decodeIfPresent(Int.self, forKey: "age") ?? 0
        extra = (try? coder.decode([String: Double].self, forKey: "extra")) ?? [:]
        child = try coder.decodeIfPresent(FuzzFoo.self, forKey: "child")
        if coder.contains("parent") { try coder.decodeReference(FuzzFoo.self, forKey: "parent") { self.parent = $0 } }
    }

    func encode(with coder: ObjectEncoder) throws {
        try coder.encode(name, forKey: "name")
        try coder.encode(age, forKey: "age")
        try coder.encode(extra, forKey: "extra")
        try coder.encode(child, forKey: "child")
        try coder.encodeConditional(parent, forKey: "parent")
    }
}

struct FuzzThings: Codable {
    var id: UUID? = UUID()
    var url: URL? = URL(string: "a", relativeTo: URL(string: "http://b/"))
    var price: Decimal? = 12.5
    var date: Date? = Date(timeIntervalSinceReferenceDate: 1)
    var data: Data? = Data([1])
    var numbers: [Int: Bool]? = [1: true]
    var set: Set<String>? = ["x"]
    var list: [Float?]? = [nil, 1]
    var foos: [FuzzFoo]? = [FuzzFoo("in", 2)]
    var any: PropertyList? = .array([.bool(true)])
}

/// Called by libFuzzer with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzPropertyLists(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    var limits = ArchiveLimits()
    limits.bytes = 8 << 20
    limits.objects = 1 << 16
    if let graph = try? ArchivedGraph(bytes, limits: limits, anyArchiver: true) {
        for format in [ArchiveFormat.binary, .xml] {
            guard let again = try? graph.bytes(format: format, limits: limits) else { continue }
            guard let second = try? ArchivedGraph(again, limits: limits, anyArchiver: true), second == graph,
                second.hashValue == graph.hashValue
            else { fatalError("another graph came back as \(format)") }
        }
        var changed = graph
        for index in graph.objects.indices { try? changed.replace(index, with: graph.objects[index]) }
        if changed != graph { fatalError("the same objects are another graph") }
        _ = try? changed.bytes(format: .binary, limits: limits)
        _ = graph.description.utf8.count
        if let compact = try? graph.bytes(format: .compact, limits: limits) {
            // The compact archive names its archiver, like the property list.
            guard let second = try? ArchivedGraph(compact, anyArchiver: true) else {
                fatalError("a compact archive is broken")
            }
            // Shared lists and maps become objects in the compact format.
            if graph.sharedValues.isEmpty, second != graph { fatalError("another graph came back as compact") }
        }
    }
    for type in 0..<4 {
        guard let unarchiver = try? KeyedUnarchiver(bytes, limits: limits) else { return 0 }
        guard let key = unarchiver.keys.first else { return 0 }
        switch type {
        case 0:
            if let foo = try? unarchiver.decode(FuzzFoo.self, forKey: key) {
                _ = try? KeyedArchiver.archive(foo, format: .binary)
            }
        case 1:
            if let things = try? unarchiver.decode(FuzzThings.self, forKey: key) {
                _ = try? KeyedArchiver.archive(things, format: .xml)
            }
        case 2: _ = try? unarchiver.decode([String: [FuzzThings?]].self, forKey: key)
        default: _ = try? unarchiver.decode(PropertyList.self, forKey: key)
        }
    }
    return 0
}

/// Writes seed archives into the directory that `FUZZ_SEEDS` names.
@_cdecl("LLVMFuzzerInitialize")
public func prepareSeeds(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>
) -> CInt {
    guard let directory = ProcessInfo.processInfo.environment["FUZZ_SEEDS"] else { return 0 }
    #if FUZZ_XML
        let format = ArchiveFormat.xml
    #else
        let format = ArchiveFormat.binary
    #endif
    let foo = FuzzFoo("é🥪", -500)
    foo.child = FuzzFoo("child", .max)
    foo.child?.parent = foo
    let seeds: [[UInt8]?] = [
        try? KeyedArchiver.archive(foo, format: format), try? KeyedArchiver.archive(FuzzThings(), format: format),
        try? KeyedArchiver.archive(["k": [FuzzThings(), nil]], format: format),
        try? KeyedArchiver.archive([UUID(), UUID()], format: format),
        try? KeyedArchiver.archive([Decimal(1.5)], format: format),
        try? KeyedArchiver.archive(URL(string: "a", relativeTo: URL(string: "b:c")), format: format),
        // Characters that XML cannot contain.
        try? KeyedArchiver.archive(["\u{1B}[0m\u{FFFD}": "\u{0}\u{FFFE}"], format: format),
    ]
    for (index, seed) in seeds.enumerated() {
        if let seed { try? Data(seed).write(to: URL(filePath: "\(directory)/seed\(index)")) }
    }
    return 0
}
