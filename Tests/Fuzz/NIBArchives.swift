// Feeds the reader of NIBArchives bytes from libFuzzer. Nothing may trap, hang or take memory without bound.

@testable import KeyedArchive

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Called by libFuzzer with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzNIBArchives(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let graph: NIBArchiveGraph
    do { graph = try NIBArchiveGraph(bytes) } catch let error as ArchiveError {
        guard error.message.contains(", at byte ") else { fatalError("an error without a place: \(error)") }
        return 0
    } catch {
        fatalError("another error: \(error)")
    }
    guard ArchiveFormat(detecting: bytes) == .nibArchive else { fatalError("opened, but not detected") }
    for object in graph.objects {
        _ = graph.classes[object.classIndex].name.string
        for field in object.fields {
            _ = field.key.string
            switch field.value {
            case .reference(let object): _ = graph.objects[object].fields.count
            case .data(let data): _ = data.count
            default: break
            }
        }
    }
    for type in graph.classes {
        guard type.fallbacks.allSatisfy(graph.classes.indices.contains) else { fatalError("a fallback is no class") }
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
    for (index, seed) in NIBArchiveBytes.good.enumerated() {
        try? Data(seed.bytes).write(to: URL(filePath: "\(directory)/seed\(index)"))
    }
    return 0
}
