import DistantObjects
import PortTransport
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

@Suite("Helpers that are killed at random moments", .bounded())
struct HelperKillTests {
    @Test("Kills while a helper starts, runs, is replaced or is stopped leave no process and no descriptor behind")
    func killsAtRandom() async {
        await #expect(processExitsWith: .success) {
            let seed = TestSeed.next()
            var generator = SeededGenerator(seed: seed)
            let kills = ProcessInfo.processInfo.environment["DISTANT_KILLS"].flatMap { Int($0) } ?? 30
            // After the first helper all cached resources exist.
            try await Self.kill(2, &generator, seed)
            let usage = await UsageRecord()
            var done = 0
            while done < kills { done += try await Self.kill(5, &generator, seed) }
            await usage.expectNoMore()
            await eventually("no child is left") { Usage.children.isEmpty }
        }
    }

    /// Starts a helper and kills its processes, which are the only children of this process, at random moments.
    ///
    /// - Returns: The number of kills.
    @discardableResult
    private static func kill(_ most: Int, _ generator: inout SeededGenerator, _ seed: UInt64) async throws -> Int {
        var options = HelperOptions()
        options.arguments = ["crash"]
        options.configuration = .patient
        options.configuration.exitTimeout = .milliseconds(100)
        options.environment["SWIFT_BACKTRACE"] = "enable=no"
        let helper = Helper(
            CrasherInterface.self, try builtProgram("killed-peer"),
            restart: .onFailure(limit: .max, backoff: .zero ... .zero), options: options)
        var kills = 0
        for _ in 0..<Int.random(in: 1...most, using: &generator) {
            let bytes = (0..<100).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let call = Task { try await helper.remote.echo(bytes) }
            if Bool.random(using: &generator) { _ = try? await helper.running() }
            // Else it is killed while it starts, once there is a process.
            await eventually("it runs") { !Usage.children.isEmpty }
            for _ in 0..<Int.random(in: 0...3, using: &generator) { await Task.yield() }
            for child in Usage.children where systemKill(child) == 0 { kills += 1 }
            do { #expect(try await call.value == bytes, "seed \(seed)") } catch let error as ConnectionError {
                #expect(error.code == .outcomeUnknown, "\(error), seed \(seed)")
            }
        }
        if Bool.random(using: &generator) {
            async let stop: Void = helper.stop()
            for child in Usage.children where systemKill(child) == 0 { kills += 1 }
            await stop
        } else {
            await helper.stop()
        }
        return kills
    }
}

private func systemKill(_ process: Int32) -> Int32 { kill(process, SIGKILL) }
