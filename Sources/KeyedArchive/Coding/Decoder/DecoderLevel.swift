/// Where a frame was while something in it was read.
struct DecoderLevel: CodingLevel {
    /// The serial number of the frame.
    private(set) var serial: Int
    private var keys: UnsafePointer<String>
    private var cursor: Int
    private var layout: DecoderFrame.Layout
    /// The index of the element of a list that is read without frame; -1 if there is none, and less in a dictionary.
    var element: Int
    /// In a dictionary, the key of the element, in the archive; nil until it is read.
    private var key: UnsafeRawPointer?

    /// Notes where a frame is, before something in it is read.
    @inline(__always)
    mutating func note(_ frame: DecoderFrame, element: Int = -1) {
        serial = frame.serial
        keys = frame.keys
        cursor = frame.cursor
        layout = frame.layout
        self.element = element
    }

    /// Notes the element of a dictionary that is read next, and where its key is, if that was read.
    @inline(__always)
    mutating func note(entry index: Int, key: UnsafeRawPointer?) {
        element = -2 - index
        self.key = key
    }

    /// Whether the key of an entry of a dictionary is being read.
    var isBeforeKey: Bool { element < -1 && key == nil }

    /// The step from a collection that is read without frame to its element; nil if the level is none.
    var elementStep: ArchiveError.Step? {
        if element >= 0 { return .index(element) }
        guard element < -1 else { return nil }
        let index = -2 - element
        return key.map { ArchiveError.Step(entry: index, key: $0) } ?? .index(index)
    }

    /// The key or the position in the frame; nil for the value of a frame without either, and for the archive's keys.
    var step: ArchiveError.Step? {
        // The archive's own record is the only frame with the serial number 0. Its keys are not part of coding paths.
        guard serial != 0 else { return nil }
        switch layout {
        case .keyed:
            guard cursor > 0 else { return nil }
            let key = keys[cursor - 1]
            return StoredKey.position(key).map { .index($0) } ?? .key(StoredKey.unescaped(key))
        case .list: return .index(cursor)
        case .closed, .unopened, .single: return nil
        }
    }
}
