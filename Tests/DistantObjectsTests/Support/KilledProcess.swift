import DistantObjects
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

/// A launched process that is killed, by this one or by itself, and the connection to it.
final class KilledProcess: Sendable {
    /// How a process is connected.
    enum Way: CaseIterable, Sendable {
        case socket, pipes
        #if !canImport(Darwin)
            case sharedMemory
        #endif

        fileprivate var isInSharedMemory: Bool {
            #if canImport(Darwin)
                false
            #else
                self == .sharedMemory
            #endif
        }
    }

    let connection: Connection
    private let ended: Signal

    init(_ program: String, over way: Way) async throws {
        let ended = Signal()
        self.ended = ended
        var configuration = Connection.Configuration.patient
        if way.isInSharedMemory { configuration.busy = .always }
        configuration.onEvent = { if $0.code == .ended { ended.send() } }
        connection = try await Connection.launch(
            try builtProgram(program), environment: TestTimeout.environment,
            over: way == .pipes ? .pipes : .socketpair, configuration: configuration)
        while way.isInSharedMemory, !connection.isInSharedMemory { try await connection.ping() }
    }

    func kill() { connection.child?.kill() }

    /// Checks that the connection and the process have ended, and that nothing is left.
    func expectEnd(_ isExpected: (ConnectionEnd) -> Bool = RawPeerConnection.isLost) async {
        let reason = await connection.ended
        #expect(isExpected(reason), "\(reason)")
        #expect(connection.statistics.isAtRest, "\(connection.statistics)")
        #expect(ended.count == 1)
        #expect(await connection.child?.waitForExit() == .signalled(SIGKILL))
    }

    /// Runs all steps over each way in turn, and checks that this process is left with the resources that it had.
    ///
    /// The environment's `DISTANT_KILLS` sets the number of steps that are run, if it is at least twice each over each way.
    ///
    /// - Parameter steps: Each launches a process and has it killed.
    static func killAtEachStep(_ steps: [@Sendable (Way) async throws -> Void]) async throws {
        let round = steps.count * Way.allCases.count
        let kills = ProcessInfo.processInfo.environment["DISTANT_KILLS"].flatMap { Int($0) } ?? 0
        var usage: UsageRecord?
        for number in 0..<max(kills, 2 * round) {
            // After the first round, all cached resources exist.
            if number == round { usage = await UsageRecord() }
            try await steps[number % steps.count](Way.allCases[number / steps.count % Way.allCases.count])
        }
        await usage?.expectNoMore()
    }
}
