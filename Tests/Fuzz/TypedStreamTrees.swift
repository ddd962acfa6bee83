// Feeds the reader of the trees that typedstreams become, JSON and property lists, bytes from libFuzzer. Nothing may trap,
// hang or take memory without bound. A tree that makes a typedstream which opens is made of it again, in both forms, and
// each makes the same bytes.

import Glibc
import KeyedArchive

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Called by libFuzzer with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzTypedStreamTrees(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    do {
        let stream = try typedStream(of: bytes)
        let graph = try TypedStreamGraph(stream)
        let json = try Trees.json(of: graph)
        guard try TypedStreamJSONReader.bytes(from: json, progress: Progress(for: nil)) == stream else {
            fatalError("other bytes by way of JSON")
        }
        for isXML in [false, true] {
            guard try typedStream(of: try Trees.propertyList(of: json, isXML: isXML)) == stream else {
                fatalError("other bytes by way of a property list")
            }
        }
    } catch is ArchiveError {
        return 0
    } catch {
        fatalError("another error: \(error)")
    }
    return 0
}

/// The typedstream that JSON or a property list makes, as the tool makes it.
private func typedStream(of bytes: [UInt8]) throws -> [UInt8] {
    let progress = Progress(for: nil)
    if bytes.first == UInt8(ascii: "{") { return try TypedStreamJSONReader.bytes(from: bytes, progress: progress) }
    let list = try PlainPropertyList(bytes, limits: ArchiveLimits())
    guard list.hasKey("groups"), list.hasKey("labels") else { throw ArchiveError(.corrupt, "another property list") }
    // The tool allows more, which takes the time of many inputs.
    let json = try PropertyListJSON.json(list, limit: 1 << 18)
    return try TypedStreamJSONReader.bytes(from: json, isMade: true, progress: progress)
}

/// The trees of a typedstream.
private enum Trees {
    static func json(of graph: TypedStreamGraph) throws -> [UInt8] {
        let output = ByteOutput(descriptor: nil, named: "memory")
        var json = TypedStreamJSON(graph, output: output, progress: Progress(for: nil))
        try json.print()
        try output.flush()
        return output.memory
    }

    static func propertyList(of json: [UInt8], isXML: Bool) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try PropertyListJSON.write(json, isXML: isXML, limits: ArchiveLimits()) { bytes += $0 }
        return bytes
    }
}

/// The bytes of a file, which Foundation reads with a leak that the sanitizer reports.
private func content(of path: String) -> [UInt8] {
    guard let file = fopen(path, "r") else { return [] }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    bytes.removeLast(bytes.count - fread(&bytes, 1, bytes.count, file))
    return bytes
}

/// Writes seeds into the directory that `FUZZ_SEEDS` names: the trees of typedstreams, also of those in `FUZZ_FILES`.
@_cdecl("LLVMFuzzerInitialize")
public func prepareSeeds(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>
) -> CInt {
    let environment = ProcessInfo.processInfo.environment
    guard let directory = environment["FUZZ_SEEDS"] else { return 0 }
    var streams = TypedStreamBytes.good.map(\.bytes)
    let files = environment["FUZZ_FILES"]?.split(separator: "\n") ?? []
    streams += files.map { content(of: String($0)) }
    for (index, stream) in streams.enumerated() {
        guard let graph = try? TypedStreamGraph(stream), let json = try? Trees.json(of: graph) else { continue }
        let trees = [json] + [false, true].compactMap { try? Trees.propertyList(of: json, isXML: $0) }
        for (form, tree) in trees.enumerated() {
            try? Data(tree).write(to: URL(filePath: "\(directory)/seed\(index)-\(form)"))
        }
    }
    return 0
}
