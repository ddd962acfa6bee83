/// Complete large messages that may have to wait, and take room in the window meanwhile.
///
/// A message may wait for something that needs this room: the method of a promise waits for an answer, or the reader of
/// a stream for another stream. Then its room is given back early, and the message is *laid aside*.
struct LaidAside {
    private struct Entry {
        weak var message: PartialMessage?
    }

    private var entries: [Entry] = []

    var isEmpty: Bool { entries.isEmpty }

    /// Adds a message that has come.
    mutating func add(_ message: PartialMessage) {
        entries.removeAll { $0.message == nil }
        entries.append(Entry(message: message))
    }

    /// The messages that are not started or freed, in the order in which they have come.
    var messages: [PartialMessage] { entries.compactMap(\.message).filter { $0.place != .started } }
}
