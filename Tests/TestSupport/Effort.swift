import KeyedArchive

/// Work as a multiple of other work, which a fast machine, a slow one, a debug build and a sanitizer change alike.
package enum Effort {
    /// The computing time that archiving 10,000 strings and reading them again takes here.
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
    /// The dearest one takes 8, and what grows without bound more than any machine could do.
    package static let bound = 200.0
}
