import Dispatch
import Synchronization

@testable import DistantObjects
@testable import PortTransport

/// A connection that follows the rules, used from blocking threads and from tasks.
///
/// Each of its calls must end, with a value or an error.
final class HonestSide: Sendable {
    let connection: Connection
    let loop: EventLoop
    private let begun = Atomic<Int>(0)
    private let ended = Atomic<Int>(0)

    static let loops = [false, true].map { polls in
        var configuration = EventLoop.Configuration()
        configuration.polling = polls ? .always(.microseconds(30)) : .off
        guard let loop = try? EventLoop(configuration: configuration) else { fatalError("no loop") }
        return loop
    }

    init(_ endpoint: ChannelEndpoint, isInitiator: Bool, polls: Bool) throws {
        loop = Self.loops[polls ? 1 : 0]
        var configuration = Connection.Configuration()
        configuration.loop = loop
        configuration.programName = "fuzz"
        configuration.errorTypes = [FuzzError.self]
        configuration.limits.references = 64
        configuration.limits.message = 1 << 20
        configuration.busy.frames = 1
        configuration.busy.nanoseconds = .max
        connection = try Connection.make(endpoint, configuration, isInitiator: isInitiator)
        connection.vend(FuzzDirectory())
        connection.begin()
    }

    var isAtRest: Bool { begun.load(ordering: .relaxed) == ended.load(ordering: .relaxed) }

    private func attempt(_ body: () throws -> Void) {
        begun.add(1, ordering: .relaxed)
        try? body()
        ended.add(1, ordering: .relaxed)
    }

    /// Makes an attempt in a task, on the loop or on another thread.
    private func attempt(onLoop: Bool, _ body: @escaping @concurrent @Sendable () async throws -> Void) {
        begun.add(1, ordering: .relaxed)
        Task(executorPreference: onLoop ? loop : globalConcurrentExecutor) {
            try? await body()
            self.ended.add(1, ordering: .relaxed)
        }
    }

    /// Runs the steps on `count` threads, which block in some of them.
    func start(_ steps: [UInt8], on count: Int, _ group: DispatchGroup) {
        for thread in 0..<count {
            DispatchQueue.global().async(group: group) {
                for (index, step) in steps.enumerated() where index % count == thread { self.take(step) }
            }
        }
    }

    private func take(_ step: UInt8) {
        let peer = DistantObject(.rootDirectory, on: connection)
        let deadline = Duration.milliseconds(1 + Int(step >> 4) * 2)
        let onLoop = step & 16 != 0
        switch step & 15 {
        case 0: attempt { let _: Int = try peer.echo.blocking(1, timeout: deadline) }
        // These block until the answer, or the end of the connection.
        case 1: attempt { let _: Int = try peer.echo.blocking(1) }
        case 2: attempt { let _: [UInt8] = try peer.bytes.blocking(Self.large(step), timeout: deadline) }
        case 3: attempt { try peer.note.blockingOneWay(3, timeout: deadline) }
        case 4: attempt(onLoop: onLoop) { let _: Int = try await peer.echo(2, timeout: deadline) }
        case 5: attempt(onLoop: onLoop) { let _: [UInt8] = try await peer.bytes(Self.large(step)) }
        case 6: attempt(onLoop: onLoop) { try await peer.note.oneWay(4) }
        case 7: attempt(onLoop: onLoop) { try await self.connection.ping() }
        case 8: attempt(onLoop: onLoop) { try await self.connection.barrier() }
        case 9: attempt(onLoop: onLoop) { let _: DistantObject = try await peer.keep(FuzzDirectory()) }
        case 10:
            attempt(onLoop: onLoop) {
                let call = Task { try await peer.wait() }
                await Task.yield()
                call.cancel()
                try await call.value
            }
        case 11: for _ in 0..<40 { attempt { _ = try peer.note.offer(5) } }
        case 12: attempt(onLoop: onLoop) { try await self.connection.run { let _: Int = try await peer.echo(6) } }
        case 13: attempt { _ = try connection.blockingRoot(timeout: deadline) }
        case 14: for _ in 0..<20 { attempt(onLoop: onLoop) { let _: Int = try await peer.echo(7) } }
        default: attempt(onLoop: onLoop) { let _: FuzzNode = try await peer.node(FuzzNode("a", [FuzzNode("b")])) }
        }
    }

    /// Bytes that fit a ring, or more.
    private static func large(_ step: UInt8) -> [UInt8] {
        [UInt8](repeating: 7, count: step & 64 == 0 ? 70_000 : 300_000)
    }
}
