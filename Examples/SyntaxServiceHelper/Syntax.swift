import DistantObjects
import SyntaxServiceValues

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Answers the editor; sent by reference.
final class Syntax: Vendable, Implements {
    typealias I = SyntaxInterface

    let build: Int
    private let memoryAtStart = Syntax.mostMemory()

    static var messages: MessageTable<Syntax> {
        Message(\I.outline, Syntax.outline)
        Message(\I.build) { $0.build }
        Message(\I.memory, Syntax.memory)
    }

    init(build: Int) { self.build = build }

    func outline(of file: SourceFile) async throws -> [Declaration] {
        var outline: [Declaration] = []
        var depth = 0
        for line in file.text.split(separator: "\n") {
            if line.hasSuffix(" {") {
                let name = String(line.drop { $0 == " " }.dropLast(2))
                try await Trouble(rawValue: name)?.happen()
                outline.append(Declaration(name: name, depth: depth))
                depth += 1
            } else if line.hasSuffix("}") {
                depth -= 1
            }
        }
        return outline
    }

    func memory() -> Int { Self.mostMemory() - memoryAtStart }

    private static func mostMemory() -> Int {
        var usage = rusage()
        #if canImport(Glibc)
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
            return usage.ru_maxrss << 10
        #else
            getrusage(RUSAGE_SELF, &usage)
            return usage.ru_maxrss
        #endif
    }
}
