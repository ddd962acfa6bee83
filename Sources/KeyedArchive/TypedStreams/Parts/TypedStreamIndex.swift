/// Where the labels and the shared strings of a typedstream lie: 12 bytes for a label, and 8 for a string.
///
/// Values are read from the file when they are asked for.
// Changed only by the reader that opens the stream, before anything else knows of it.
final class TypedStreamIndex: @unchecked Sendable {
    let bytes: ArchiveBytes
    private let isBigEndian: Bool
    private let labels = Column<Label>()
    private let strings = Column<SharedString>()

    /// What has a number that references name.
    enum Kind {
        case object
        case type
        case cString
    }

    /// An object with its end and the first label behind it; while it is open, the object that contains it and 0.
    private struct Label: BitwiseCopyable {
        /// The place of its tag.
        let offset: UInt32
        /// Of a class: behind its version.
        var end: UInt32
        var next: UInt32

        static let type = UInt32.max
        static let cString = UInt32.max - 1
    }

    private struct SharedString: BitwiseCopyable {
        /// The place of its length.
        let offset: UInt32
        /// The bytes that values of this type take at least, if it was used as a type.
        var least: UInt32

        static let unknown = UInt32.max
        /// It contains a zero, so it is neither a type nor a C string.
        static let hasZero = UInt32.max - 1
    }

    /// The most bytes of a file, and the label that stands for none.
    static let most = Int(UInt32.max) - 2

    init(_ bytes: ArchiveBytes, isBigEndian: Bool) {
        self.bytes = bytes
        self.isBigEndian = isBigEndian
    }

    /// The bytes from a place on.
    func source(at position: Int) -> TypedStreamSource {
        TypedStreamSource(ByteSource(bytes.bytes, from: position), isBigEndian: isBigEndian)
    }

    var labelCount: Int { labels.count }
    var stringCount: Int { strings.count }

    // MARK: Strings

    /// The place of the length of a string.
    func offset(ofString number: Int) -> Int { Int(strings[number].offset) }

    func appendString(at offset: Int, hasZero: Bool) {
        strings.append(
            SharedString(offset: UInt32(offset), least: hasZero ? SharedString.hasZero : SharedString.unknown))
    }

    func hasZero(string number: Int) -> Bool { strings[number].least == SharedString.hasZero }

    /// The bytes that values of a type take at least, with a number above every file's size cut to that; nil if they are
    /// not known yet.
    func least(ofType number: Int) -> Int? {
        let least = strings[number].least
        return least < SharedString.hasZero ? Int(least) : nil
    }

    func setLeast(_ least: Int, ofType number: Int) {
        strings[number].least = UInt32(min(least, Int(SharedString.hasZero) - 1))
    }

    // MARK: Labels

    func kind(_ label: Int) -> Kind {
        switch labels[label].next {
        case Label.type: .type
        case Label.cString: .cString
        default: .object
        }
    }

    func offset(_ label: Int) -> Int { Int(labels[label].offset) }

    /// Behind the end of an object, or the version of a class.
    func end(_ label: Int) -> Int { Int(labels[label].end) }

    /// The first label behind an object.
    func next(_ label: Int) -> Int { Int(labels[label].next) }

    func appendCString(at offset: Int) {
        labels.append(Label(offset: UInt32(offset), end: 0, next: Label.cString))
    }

    func appendClass(at offset: Int) { labels.append(Label(offset: UInt32(offset), end: 0, next: Label.type)) }

    func setEnd(ofClass label: Int, _ end: Int) { labels[label].end = UInt32(end) }

    /// - Parameter container: The object that contains it; nil at the top.
    func openObject(at offset: Int, in container: Int?) {
        labels.append(Label(offset: UInt32(offset), end: container.map { UInt32($0) } ?? UInt32.max, next: 0))
    }

    /// Ends the object; returns the one that contains it.
    func closeObject(_ label: Int, end: Int) -> Int? {
        let container = labels[label].end
        labels[label].end = UInt32(end)
        labels[label].next = UInt32(labels.count)
        return container == UInt32.max ? nil : Int(container)
    }

    /// Whether a class was read up to its end.
    func isComplete(class label: Int) -> Bool { labels[label].end > 0 }
}
