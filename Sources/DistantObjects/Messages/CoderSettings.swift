import KeyedArchive

/// The bounds and classes that a connection's messages are encoded and decoded with.
final class CoderSettings: Sendable {
    let limits: ArchiveLimits
    let classes: ClassRegistry

    init(limits: ArchiveLimits, classes: ClassRegistry) {
        self.limits = limits
        self.classes = classes
    }

    /// Nearly every connection has these.
    private static let plain = CoderSettings(limits: ArchiveLimits(), classes: ClassRegistry())

    static func of(_ limits: ArchiveLimits, _ classes: ClassRegistry) -> CoderSettings {
        if classes.isPlain, limits == plain.limits { return plain }
        return CoderSettings(limits: limits, classes: classes)
    }

    /// Whether an encoder or decoder made for the other needs no more than these limits to work for this.
    ///
    /// They remember names of classes, so the registries have to be the same; nearly all are empty.
    func fits(_ other: CoderSettings) -> Bool {
        self === other || (classes.isPlain && other.classes.isPlain)
    }
}
