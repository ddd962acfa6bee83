// Feeds the reader of typedstreams bytes from libFuzzer. Nothing may trap, hang or take memory without bound. What opens is
// written as the same bytes, both number by number and from its values with what the file stores unusually.

@testable import KeyedArchive

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Called by libFuzzer with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzTypedStreams(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let graph: TypedStreamGraph
    do { graph = try TypedStreamGraph(bytes) } catch let error as ArchiveError {
        guard error.message.contains(", at byte ") else { fatalError("an error without a place: \(error)") }
        return 0
    } catch {
        fatalError("another error: \(error)")
    }
    guard ArchiveFormat(detecting: bytes) == .typedstream else { fatalError("opened, but not detected") }
    guard (try? graph.bytes()) == bytes else { fatalError("other bytes were written") }
    guard (try? rebuilt(graph)) == bytes else { fatalError("other bytes were written from the values") }
    var seen = 0
    for group in graph.groups { view(group, graph, &seen) }
    for label in graph.labels {
        switch label {
        case .object(let object):
            if let type = object.classLabel, case .type = graph.labels[type] {
            } else if object.classLabel != nil {
                fatalError("the class of an object is none")
            }
            for group in object.groups { view(group, graph, &seen) }
        case .type(let type): _ = type.name.string
        case .cString(let text): _ = text.string
        }
    }
    // Each label but the classes of objects and superclasses stands in some value.
    var met = 0
    for label in graph.labels { if case .type = label {} else { met += 1 } }
    guard seen >= met else { fatalError("a label is in no value") }
    return 0
}

/// Looks at the values of a group; counts its labels.
private func view(_ group: TypedStreamGroup, _ graph: TypedStreamGraph, _ labels: inout Int) {
    guard group.types.map(\.data).reduce(Data(), +) == group.type.data else { fatalError("the types are not the type") }
    var depth = 0
    for value in group.values {
        switch value {
        case .label(let label):
            _ = graph.labels[label]
            labels += 1
        case .array, .structure: depth += 1
        case .endArray, .endStructure: depth -= 1
        default: break
        }
        guard depth >= 0 else { fatalError("the end of nothing") }
    }
    guard depth == 0 else { fatalError("a structure or array does not end") }
}

/// The bytes that the values and the unusual forms of a graph make.
private func rebuilt(_ graph: TypedStreamGraph) throws -> [UInt8] {
    var writer = TypedStreamWriter(isBigEndian: graph.isBigEndian, forms: try graph.forms())
    defer { writer.deallocate() }
    func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: graph.index.bytes.bytes[range])
    }
    writer.number(Int64(graph.systemVersion))
    var reader = graph.reader(.copying)
    while let token = try reader.next() {
        let encoding = reader.lastEncoding
        switch token {
        case .group(let type): writer.sharedString(bytes(type.start..<type.end))
        case .null: writer.null()
        case .byte(let byte): writer.byte(byte)
        case .number(let number):
            switch encoding {
            case UInt8(ascii: "f"): writer.float(bits: Float(number.value).bitPattern)
            case UInt8(ascii: "d"): writer.double(bits: Double(number.value).bitPattern)
            default: writer.integer(number.value, encoding)
            }
        case .float(let bits): writer.float(bits: bits)
        case .double(let bits): writer.double(bits: bits)
        case .text(let range): writer.text(bytes(range))
        case .name(let string): writer.sharedString(bytes(string.range))
        case .bytes(let range, _): writer.raw(bytes(range))
        case .reference(let label): writer.reference(label)
        case .object: writer.new()
        case .endObject: writer.endObject()
        case .type(_, let name, let version):
            writer.new()
            writer.sharedString(bytes(name.range))
            writer.number(version.value)
        case .cString(_, let text):
            writer.new()
            writer.sharedString(bytes(text.range))
        case .endGroup, .nothing, .array, .emptyArray, .endArray, .structure, .endStructure: break
        }
    }
    return Array(writer.bytes)
}

/// Writes seed archives into the directory that `FUZZ_SEEDS` names.
@_cdecl("LLVMFuzzerInitialize")
public func prepareSeeds(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>
) -> CInt {
    guard let directory = ProcessInfo.processInfo.environment["FUZZ_SEEDS"] else { return 0 }
    for (index, seed) in TypedStreamBytes.good.enumerated() {
        try? Data(seed.bytes).write(to: URL(filePath: "\(directory)/seed\(index)"))
    }
    return 0
}
