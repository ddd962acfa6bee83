import KeyedArchive

/// The part of a configuration that a connection encodes and decodes its messages with.
final class CoderSettings: Sendable {
    let limits: ArchiveLimits
    let classes: ClassRegistry
    let errorTypes: [String: any (Error & Codable).Type]
    let exposesErrorText: Bool
    /// The most bytes of messages that views may keep.
    let viewedBytes: Int

    private init(
        _ limits: ArchiveLimits = .init(), _ classes: ClassRegistry = .init(),
        errorTypes: [any (Error & Codable).Type] = [], exposesErrorText: Bool = false, viewedBytes: Int
    ) {
        self.limits = limits
        self.classes = classes
        self.errorTypes = Dictionary(
            errorTypes.map { (typeName($0), $0) }, uniquingKeysWith: { first, _ in first })
        self.exposesErrorText = exposesErrorText
        self.viewedBytes = viewedBytes
    }

    /// The defaults, shared by the connections that use them.
    private static let plain = CoderSettings(viewedBytes: ConnectionLimits().viewedBytes)

    static func of(
        _ limits: ConnectionLimits, _ classes: ClassRegistry, errorTypes: [any (Error & Codable).Type],
        exposesErrorText: Bool
    ) -> CoderSettings {
        let isPlain =
            classes.isPlain && errorTypes.isEmpty && !exposesErrorText && limits.archive == plain.limits
            && limits.viewedBytes == plain.viewedBytes
        guard !isPlain else { return plain }
        return CoderSettings(
            limits.archive, classes, errorTypes: errorTypes, exposesErrorText: exposesErrorText,
            viewedBytes: limits.viewedBytes)
    }

    /// Whether an encoder or decoder made for the other settings works for these once it has these limits.
    ///
    /// Coders cache class names, so both registries have to be empty, as most are, or the settings identical.
    func fits(_ other: CoderSettings) -> Bool {
        self === other || (classes.isPlain && other.classes.isPlain)
    }
}
