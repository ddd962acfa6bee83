import DistantObjects
import DistantTesting
import Synchronization
import SyntaxServiceValues
import TestSupport
import Testing

@testable import SyntaxService

/// The editor's own code, with helpers in this process.
@Suite("The editor of the example SyntaxService, without processes", .bounded())
struct SyntaxWithoutProcessTests {
    private static func samples(_ troubles: [Trouble?]) -> [Sample] {
        var generator = Generator(seed: 7)
        return troubles.enumerated().map { Sample("\($0)", $1, from: &generator) }
    }

    /// An editor, whose helpers know the outlines of these samples.
    private static func editor(
        _ samples: [Sample], wrongAt wrong: Int? = nil, dying: @escaping @Sendable (Sample) -> Bool = { _ in false }
    ) -> Editor {
        let last = Mutex<TestPeer?>(nil)
        return Editor(
            Helper(SyntaxInterface.self, restart: .onFailure(limit: 50, backoff: .zero ... .zero)) {
                let reader = Reader { file in
                    let number = Int(file.name) ?? 0
                    if dying(samples[number]) { last.withLock { $0 }?.die() }
                    return number == wrong ? [] : samples[number].outline
                }
                let peer = try TestPeer(reader, configuration: .patientExample)
                last.withLock { $0 = peer }
                return peer.connection
            })
    }

    @Test("Only the file is lost of which the helper dies, wherever it is among the others", arguments: 0..<6)
    func deadlyFile(place: Int) async throws {
        let samples = Self.samples((0..<6).map { $0 == place ? .crash : nil })
        let editor = Self.editor(samples) { $0.trouble == .crash }
        let answers = await editor.ask(about: samples)
        #expect(answers == samples.enumerated().map { $0 == place ? .lost(.helperDied) : .outline($1.outline) })
        #expect(zip(samples, answers).allSatisfy { $0.isRight($1) })
        await editor.stop()
    }

    @Test("A wrong outline, and a loss that the file does not bring, are noticed")
    func wrongAnswer() async throws {
        let samples = Self.samples([nil, .crash, nil])
        let editor = Self.editor(samples, wrongAt: 2)
        let answers = await editor.ask(about: samples)
        #expect(zip(samples, answers).map { $0.isRight($1) } == [true, false, false])
        #expect(!samples[0].isRight(.lost(.helperDied)) && !samples[1].isRight(.lost(.tookTooLong)))
        let story = Story(editor, seed: 1)
        #expect(throws: Never.self) { try story.end() }
        // These helpers answer it.
        await story.tell(.crash)
        #expect(throws: StoryError.self) { try story.end() }
        await editor.stop()
    }
}

/// Answers as the helper does.
private final class Reader: Vendable, Implements {
    typealias I = SyntaxInterface

    private let outline: @Sendable (SourceFile) -> [Declaration]

    static var messages: MessageTable<Reader> {
        Message(\I.outline) { $0.outline($1) }
        Message(\I.build) { _ in 1 }
        Message(\I.memory) { _ in 0 }
    }

    init(_ outline: @escaping @Sendable (SourceFile) -> [Declaration]) { self.outline = outline }
}
