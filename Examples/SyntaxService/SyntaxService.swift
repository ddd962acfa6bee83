import DistantObjects
import ExampleConsole
import SyntaxServiceValues

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// An editor whose helper crashes, hangs and worse, and is replaced each time.
@main
struct SyntaxService {
    static let usage = """
        Usage: SyntaxService [SEED] [crash] [hang] [slow] [leak] [print]

        Asks a helper process for the outlines of files that the seed makes up (1, or as given). Some files crash the
        helper, stop it, keep it busy, make it take more and more memory or print (all of it, or as given); then a newer
        build replaces it. All other files are answered. At the end a table tells what happened.
        """

    static func main() async {
        // SIGPIPE is left as it is: it ends this program if nobody reads its output, and connections do not raise it.
        Console.reserveDescriptors()
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            try UsageError.check(arguments)
            if UsageError.asksForHelp(arguments) { return Console.say(usage) }
            let seed = arguments.first.flatMap { UInt64($0) }
            let troubles = try arguments.dropFirst(seed == nil ? 0 : 1).map { word in
                guard let trouble = Trouble(rawValue: word) else { throw UsageError("“\(word)” is not understood") }
                return trouble
            }
            try await run(seed: seed ?? 1, troubles.isEmpty ? Trouble.allCases : troubles)
            try Console.checkOutput()
        } catch let error as UsageError {
            Console.complain("SyntaxService", error)
            exit(2)
        } catch {
            Console.complain("SyntaxService", "\(error)")
            exit(1)
        }
    }

    private static func run(seed: UInt64, _ troubles: [Trouble]) async throws {
        let installation = try Installation()
        defer { installation.remove() }
        let signals = installation.removeAtInterruption()
        defer { withExtendedLifetime(signals) {} }
        try installation.install(build: 1)

        let helper = Helper(
            SyntaxInterface.self, installation.program, restart: Editor.policy, options: Editor.options)
        let editor = Editor(helper)
        let story = Story(editor, seed: seed)
        let diary = Task { await editor.keepDiary() }
        let watch = Task { await editor.watchMemory() }

        for trouble in troubles { await story.tell(trouble) }
        try installation.install(build: 2)
        try await story.tellUpdate(to: 2)

        watch.cancel()
        await watch.value
        await editor.stop()
        await diary.value
        try story.end()
    }
}
