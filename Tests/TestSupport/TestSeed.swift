#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Seeds of tests that do something at random.
///
/// A failing test prints its seed; `DISTANT_SEED=n swift test --filter` with its name repeats what it did.
package enum TestSeed {
    /// The seed that the environment names.
    package static let given = ProcessInfo.processInfo.environment["DISTANT_SEED"].flatMap { UInt64($0) }

    /// The seed that the environment names; else another one each time.
    package static func next() -> UInt64 { given ?? .random(in: 0..<1 << 40) }
}
