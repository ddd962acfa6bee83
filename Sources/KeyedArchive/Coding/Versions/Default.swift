/// Defaults for ``Defaulted`` fields that many types need: `@Defaulted<Default.Empty<[String]>> var tags = []`.
public enum Default {
    /// False.
    public enum False: DefaultValue {
        /// False.
        public static var defaultValue: Bool { false }
    }

    /// True.
    public enum True: DefaultValue {
        /// True.
        public static var defaultValue: Bool { true }
    }

    /// The number 0.
    public enum Zero<Number: AdditiveArithmetic & Codable>: DefaultValue {
        /// The number 0.
        public static var defaultValue: Number { .zero }
    }

    /// An array, a string or data without elements.
    public enum Empty<Content: RangeReplaceableCollection & Codable>: DefaultValue {
        /// No elements.
        public static var defaultValue: Content { Content() }
    }

    /// A set without elements.
    public enum EmptySet<Element: Hashable & Codable>: DefaultValue {
        /// No elements.
        public static var defaultValue: Set<Element> { [] }
    }

    /// A dictionary without entries.
    public enum EmptyDictionary<Key: Hashable & Codable, Content: Codable>: DefaultValue {
        /// No entries.
        public static var defaultValue: [Key: Content] { [:] }
    }
}
