import DistantObjects
import ExampleConsole
import SyntaxServiceValues

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Asks a helper about files, whatever the files do to it.
final class Editor: Sendable {
    private let helper: Helper<SyntaxInterface>
    let diary = Diary()

    /// A helper may take so much memory, in bytes.
    private static let memoryLimit = 128 << 20

    init(_ helper: Helper<SyntaxInterface>) { self.helper = helper }

    /// How long a helper may be silent: half a second, or the value of the variable `SYNTAX_PATIENCE`, for a debugger.
    static let patience: Duration = {
        guard let text = getenv("SYNTAX_PATIENCE"), let seconds = Double(String(cString: text)), seconds > 0 else {
            return .milliseconds(500)
        }
        return .seconds(min(seconds, 1e6))
    }()

    /// How the editor runs its helper.
    static var options: HelperOptions {
        var options = HelperOptions()
        // No answer takes that long, unless something is wrong. Files have limits of their own.
        options.configuration.callTimeout = max(.seconds(120), patience)
        options.unresponsiveAfter = patience
        options.standardError = .kept
        // The system's word on a crash is enough.
        options.environment["SWIFT_BACKTRACE"] = "enable=no"
        return options
    }

    /// When the helper is started again.
    ///
    /// These files bring it down again and again. Other programs do with the five restarts of `onFailure`.
    static let policy = RestartPolicy.onFailure(limit: 50, backoff: .zero ... .milliseconds(100))

    // MARK: Questions

    /// Asks about files, all at once.
    func ask(about samples: [Sample]) async -> [Answer] {
        var answers = await withTaskGroup { group in
            for (index, sample) in samples.enumerated() { group.addTask { (index, await self.ask(about: sample)) } }
            return await group.reduce(into: [Int: Answer]()) { $0[$1.0] = $1.1 }
        }
        // One of those that the helper was reading when it died was too much for it. Asked alone, the others are answered.
        for (index, sample) in samples.enumerated() where answers[index] == .lost(.helperDied) {
            answers[index] = await ask(about: sample)
        }
        // The events come a little later than the answers.
        if let process = try? await helper.running().object.connection?.child { await diary.isWritten(to: process.pid) }
        return samples.indices.compactMap { answers[$0] }
    }

    private func ask(about sample: Sample) async -> Answer {
        do {
            return .outline(try await helper.remote.outline(sample.file, timeout: sample.patience))
        } catch {
            let loss = Loss(error)
            if loss == .tookTooLong { diary.note(.slow, "\(sample.file.name) takes too long, and is left out") }
            return .lost(loss)
        }
    }

    // MARK: The helper

    /// The number of the helper's build.
    func build() async throws -> Int { try await helper.remote.build() }

    /// Replaces the helper by the program that is there now.
    func update() async throws {
        await helper.restart()
        diary.note(nil, "build \(try await build()) of the helper has taken over")
    }

    /// Notes and says what happens to the helper, until it is stopped.
    func keepDiary() async {
        for await event in helper.events { diary.note(event) }
    }

    /// Kills a helper that takes too much memory, until the task is cancelled.
    func watchMemory() async {
        while !Task.isCancelled {
            // If this fails, the helper has died, and the diary says so.
            if let current = try? await helper.running(), let used = try? await current.memory(),
                used > Self.memoryLimit, let process = current.object.connection?.child
            {
                diary.expectEnd(of: process.pid, because: "it had taken \(used >> 20) MiB of memory")
                process.kill()
            }
            try? await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Stops the helper.
    func stop() async { await helper.stop() }
}
