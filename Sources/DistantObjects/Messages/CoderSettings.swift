import KeyedArchive

/// The limits and class registry that a connection encodes and decodes its messages with.
final class CoderSettings: Sendable {
    let limits: ArchiveLimits
    let classes: ClassRegistry

    init(limits: ArchiveLimits, classes: ClassRegistry) {
        self.limits = limits
        self.classes = classes
    }

    /// The defaults, shared by the connections that use them.
    private static let plain = CoderSettings(limits: ArchiveLimits(), classes: ClassRegistry())

    static func of(_ limits: ArchiveLimits, _ classes: ClassRegistry) -> CoderSettings {
        if classes.isPlain, limits == plain.limits { return plain }
        return CoderSettings(limits: limits, classes: classes)
    }

    /// Whether an encoder or decoder made for the other settings works for these once it has these limits.
    ///
    /// Coders cache class names, so both registries have to be empty, as most are, or the settings identical.
    func fits(_ other: CoderSettings) -> Bool {
        self === other || (classes.isPlain && other.classes.isPlain)
    }
}
