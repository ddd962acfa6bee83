import DistantObjects
import PortTransport

/// What one round of a few seconds does.
struct RoundSettings: Sendable {
    enum Transport: String, CaseIterable, Sendable {
        case socket, pipes, shared, memory
    }

    var transport: Transport
    var seed: UInt64
    /// Whether the system's calls take any number of bytes.
    var isCut = false
    var window: UInt64 = 8 << 20
    var sizes = OutputSizes()
    /// The most bytes in an argument or result.
    var most = 3 << 20

    /// Settings at random: half of the rounds have the sizes of every program, the others have small ones.
    init(_ transport: Transport, seed: UInt64) {
        self.transport = transport
        self.seed = seed
        var random = SeededGenerator(seed: seed)
        isCut = random.below(2) == 0
        guard random.below(3) > 0 else { return }
        func one(of values: [Int]) -> Int { values[random.below(values.count)] }
        window = UInt64(one(of: [1, 1_000, 100_000, 1 << 20, 8 << 20]))
        sizes.ring = one(of: [1, 19, 20, 21, 64, 700, 5_000, 40_000, 128 << 10])
        sizes.continuation = one(of: [1, 17, 600, 16 << 10, 64 << 10])
        sizes.narrowContinuation = one(of: [1, 40, 5_000, 16 << 10])
        sizes.smallestForPieces = one(of: [1, 70_000, 256 << 10])
        sizes.smallestPiece = one(of: [1, 1_000, 32 << 10])
        sizes.piece = one(of: [50, 3_000, 64 << 10, 1 << 20])
        sizes.narrowPiece = one(of: [20, 1_000, 64 << 10])
        sizes.streamedBeforeRegion = one(of: [1, 10_000, 1 << 20])
        let smallest = min(
            sizes.ring * 64, sizes.continuation, sizes.narrowContinuation, sizes.piece, sizes.narrowPiece)
        most = smallest < 100 ? 100_000 : smallest < 5_000 ? 300_000 : 3 << 20
    }

    /// The same settings in the other process.
    init?(_ text: String) {
        let words = text.split(separator: " ")
        guard words.count == 2, let transport = Transport(rawValue: String(words[0])), let seed = UInt64(words[1])
        else {
            return nil
        }
        self.init(transport, seed: seed)
    }

    /// What `init(_:)` reads.
    var text: String { "\(transport.rawValue) \(seed)" }

    var configuration: Connection.Configuration {
        var configuration = Connection.Configuration()
        configuration.handshakeTimeout = .seconds(600)
        configuration.lookupTimeout = .seconds(600)
        configuration.exitTimeout = .seconds(600)
        configuration.limits.answerPatience = .seconds(600)
        configuration.sharesMemory = transport == .shared
        configuration.busy.frames = 1
        configuration.busy.nanoseconds = .max
        configuration.window = window
        configuration.sizes = sizes
        return configuration
    }
}

extension RoundSettings: CustomStringConvertible {
    var description: String {
        """
        \(transport.rawValue), seed \(seed)\(isCut ? ", short reads and writes" : ""), window \(window), at most \(most) bytes, \
        \(sizes)
        """
    }
}
