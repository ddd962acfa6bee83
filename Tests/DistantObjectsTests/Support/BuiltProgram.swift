#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The path of one of the package's programs: they are built beside the tests.
func builtProgram(_ name: String) throws -> String {
    var folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    for _ in 0..<6 {
        let file = folder.appendingPathComponent(name).path
        if FileManager.default.isExecutableFile(atPath: file) { return file }
        folder.deleteLastPathComponent()
    }
    throw NotFound(name: name)
}
