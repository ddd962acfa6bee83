import TestSupport
import Testing

@Suite("What the compiler says to wrong uses of interfaces", .bounded())
struct WrongUseTests {
    /// Has the compiler check pieces of source, and compares its answers by the piece.
    private func check(_ uses: [WrongUse], _ isolation: TypeCheck.Isolation = .plain) async throws {
        var source = WrongUse.world
        var places: [(lines: Range<Int>, use: WrongUse)] = []
        for (number, use) in uses.enumerated() {
            let start = source.split(separator: "\n", omittingEmptySubsequences: false).count
            let text = use.source(number)
            source += text
            let end = source.split(separator: "\n", omittingEmptySubsequences: false).count
            // A line of a table has to be named itself.
            let line = start + 2
            places.append((use.place == .line ? line..<(line + 1) : start..<end, use))
        }
        let checked = try await TypeCheck(source, isolation)
        for (lines, use) in places {
            let said = checked.answers.filter { lines.contains($0.key) }.values.flatMap { $0 }
            for answer in use.answers {
                #expect(said.contains { $0.contains(answer) }, "\(use.text): \(said), not \(answer)")
            }
            #expect(!use.answers.isEmpty || said.isEmpty, "\(use.text): \(said)")
        }
        // Nothing else is wrong.
        let others = checked.answers.filter { answer in !places.contains { $0.lines.contains(answer.key) } }
        #expect(others.isEmpty, "\(others)")
    }

    @Test("A wrong call is an error that names the type, the member or the word that is wrong")
    func wrongCalls() async throws { try await check(WrongUse.calls + WrongUse.renamedCalls + WrongUse.streams) }

    @Test("A wrong line of a table is an error at the line, which says what to compare")
    func wrongLines() async throws { try await check(WrongUse.lines) }

    @Test("A class with a wrong table is an error that names what is missing or wrong")
    func wrongClasses() async throws { try await check(WrongUse.classes) }

    @Test("A table of an actor or of a class on one is right, or an error that shows the right form")
    func wrongIsolation() async throws { try await check(WrongUse.isolated) }

    @Test("A wrong signature is an error at the signature")
    func wrongInterfaces() async throws {
        try await check(WrongUse.interfaces)
        let (source, line, answer) = WrongUse.publicInterface
        let said = try await TypeCheck(source).answers
        #expect(said[line]?.contains { $0.contains(answer) } == true, "\(said)")
    }

    @Test("In a module of the main actor what would run off it is an error, also with the compiler's own correction")
    func wrongInMainActorModule() async throws { try await check(WrongUse.inMainActorModule, .mainActor) }
}
