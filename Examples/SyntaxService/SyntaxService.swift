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
        Usage: SyntaxService [SEED]

        Asks a helper process for the outlines of files that the seed makes up (1, or as given). Some files crash the
        helper, stop it, keep it busy, make it print or take more and more memory; then a newer build replaces it.
        All other files are answered. At the end a table tells what happened.
        """

    static func main() async {
        // SIGPIPE is left as it is: it ends this program if nobody reads its output, and connections do not raise it.
        Console.reserveDescriptors()
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            try UsageError.check(arguments)
            if UsageError.asksForHelp(arguments) { return Console.say(usage) }
            guard arguments.count <= 1, let seed = UInt64(arguments.first ?? "1") else {
                throw UsageError("the seed is a number")
            }
            try await run(seed: seed)
            try Console.checkOutput()
        } catch let error as UsageError {
            Console.complain("SyntaxService", error)
            exit(2)
        } catch {
            Console.complain("SyntaxService", "\(error)")
            exit(1)
        }
    }

    private static func run(seed: UInt64) async throws {
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

        await story.tell(.crash, "A file crashes the helper")
        await story.tell(.hang, "A file makes the helper hang")
        await story.tell(.slow, "A file takes too long")
        await story.tell(.leak, "A file makes the helper leak memory")
        await story.tell(.print, "A file makes the helper print")
        try installation.install(build: 2)
        try await story.tellUpdate("A newer build replaces the helper", to: 2)

        watch.cancel()
        await watch.value
        await editor.stop()
        await diary.value
        try story.end()
    }
}
