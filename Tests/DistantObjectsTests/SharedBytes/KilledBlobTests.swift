import DistantObjects
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc

    /// Kills a process while one of the two has bytes of the other.
    ///
    /// In a separate process, because the resources are counted.
    @Suite("Killing a process with shared bytes", .serialized, .bounded())
    struct KilledBlobTests {
        @Test("What this process has is readable until it is let go, and nothing is left")
        func killInKilledBlob() async {
            await #expect(processExitsWith: .success) {
                try await KilledProcess.killAtEachStep(Step.allCases.map { step in { try await step.run(over: $0) } })
            }
        }

        enum Step: CaseIterable, Sendable {
            case peerHolds, peerReads, thisHolds, peerFills, offered

            private static let size = 300_000

            func run(over way: KilledProcess.Way) async throws {
                let process = try await KilledProcess("killed-peer", over: way)
                let (connection, isShared) = (process.connection, way == .sharedMemory)
                let vault = try await connection.root(named: "vault")
                var own: SharedBytes? = try connection.filled(Self.size, 1)
                var theirs: SharedBytes?
                if isShared, self != .offered {
                    // Nothing waits until the memory is mapped.
                    while try await !vault.isShared(own) as Bool {}
                }
                switch self {
                case .peerHolds:
                    try await vault.hold(own) as Void
                    try await vault.die.oneWay()
                case .peerReads: try await vault.dieWith.oneWay(own)
                case .thisHolds:
                    repeat { theirs = try await vault.make(Self.size) } while isShared && theirs?.isShared == false
                    try await vault.die.oneWay()
                case .peerFills: try await vault.dieFilling.oneWay(Self.size)
                case .offered: process.kill()
                }
                await process.expectEnd()
                for bytes in [own, theirs] {
                    #expect(bytes.map { BlobServer.sum(of: $0) == Self.size } ?? true)
                }
                (own, theirs) = (nil, nil)
            }
        }
    }
#endif
