import Foundation
import FoundationCoding
import FoundationNetworking
import FoundationXML
import KeyedArchive
import TestSupport
import Testing

@Suite("Foundation's own initializers")
struct FoundationInitializerTests {
    /// The classes of all libraries of Foundation; naming a class of each loads them.
    private static func classes() throws -> [String: AnyClass] {
        _ = [URLCredential.self, XMLNode.self] as [AnyClass]
        return try DeclaredClasses.coding()
    }

    @Test("Each NSCoding class of the toolchain's Foundation is in the list of these tests")
    func completeInFoundationInitializer() throws {
        let names = Set(try Self.classes().keys)
        #expect(names == Set(ClassList.made + ClassList.refused))
        #expect(Set(ClassList.made).isDisjoint(with: ClassList.refused))
    }

    @Test("No archive ends the process, whatever class of Foundation it names and whatever it has for it")
    func noTrapInFoundationInitializer() async throws {
        let folder = try TemporaryFolder()
        try await Journal.follow(folder.path("journal")) { path, start in
            await #expect(processExitsWith: .success, observing: [\.exitStatus]) {
                [path = path as String, start = start as Int] in
                let classes = try Self.classes()
                let cases = try HostileCases(classes, Journal(path, start: start))
                for name in ClassList.made + ClassList.refused {
                    guard let type = classes[name] else { continue }
                    let short = NSStringFromClass(type)
                    try cases.run(short, like: name)
                    if short != name { try cases.run(name, like: name, at: [.root], isBrief: true) }
                }
            } != nil
        }
    }

    @Test("No archive ends the process in a subclass that decodes with Foundation's code")
    func noTrapInSubclasses() async throws {
        let folder = try TemporaryFolder()
        try await Journal.follow(folder.path("journal")) { path, start in
            await #expect(processExitsWith: .success, observing: [\.exitStatus]) {
                [path = path as String, start = start as Int] in
                // Foundation takes subclasses of its collections for abstract ones: they cannot be used as they are.
                let cases = try HostileCases(Self.classes(), Journal(path, start: start), areUsed: false)
                for type in Subclasses.all {
                    guard let model = _getSuperclass(type) else { continue }
                    let name = String(describing: type as Any.Type)
                    NSCodingUnarchiver.setClass(type, forClassName: name)
                    try cases.run(name, like: String(reflecting: model as Any.Type), at: [.root, .element, .held])
                }
            } != nil
        }
    }
}
