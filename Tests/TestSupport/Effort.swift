import KeyedArchive

/// A unit for the processor time of a test, which grows with a slow machine, a debug build or a sanitizer as the test's
/// does.
package enum Effort {
    /// The processor time of archiving 10,000 strings and reading them again.
    package static let unit: Duration = {
        let texts = (0..<10_000).map { "text \($0)" }
        let times = (0..<3).map { _ in
            let start = computingTime()
            if let archive = try? KeyedArchiver.archive(texts, format: .binary) {
                _ = try? KeyedUnarchiver.unarchive([String].self, from: archive)
            }
            return computingTime() - start
        }
        return times.max() ?? .zero
    }()

    /// The most units that one hostile or real file may take.
    ///
    /// The most expensive one takes 8. Work that grows without limit would take far more.
    package static let bound = 200.0
}
