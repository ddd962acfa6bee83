/// A violation of one rule: the bytes that the peer sends after its `Hello`, and the reason in the `Goodbye` it gets.
struct Attack: Sendable {
    var name: String
    var article = Article.wireProtocol
    /// The words of the article.
    var rule: String
    var reason: UInt64
    var greets = true
    var features: UInt64 = 0
    /// Whether the peer then ends its stream.
    ///
    /// If not, it keeps it open until it is cut off.
    var ends = false
    var bytes: [UInt8]

    typealias Raw = RawPeer

    static let all: [Attack] =
        beginnings + frames + calls + references + promises + metadata + answers + streams + shares + goodbyes

    static let beginnings = [
        Attack(
            name: "bad magic", rule: "Another version, or another magic, is refused with a `Goodbye`.", reason: 2,
            greets: false, bytes: Raw.frame(1, [1, 2, 3, 4, 1, 0, 1, 1, 1, 0])),
        Attack(
            name: "another version", rule: "Another version, or another magic, is refused with a `Goodbye`.", reason: 2,
            greets: false,
            bytes: Raw.frame(1, [0x44, 0x4F, 0x42, 0x4A, 9, 0, 1, 1, 1, 0])),
        Attack(
            name: "a short Hello", rule: "a number, count or text beyond its limit or the frame's end", reason: 1,
            greets: false, bytes: Raw.frame(1, [0x44, 0x4F])),
        Attack(
            name: "a call before Hello", rule: "any other frame before both have sent `Hello`", reason: 5,
            greets: false, bytes: Raw.frame(2, Raw.call())),
        Attack(
            name: "no credit at all", rule: "no queued calls granted", reason: 1, greets: false,
            bytes: Raw.frame(1, [0x44, 0x4F, 0x42, 0x4A, 1, 0, 0, 1, 1, 0])),
        Attack(
            name: "a name in Hello that is not UTF-8", rule: "`n` bytes, then so many bytes of valid UTF-8", reason: 1,
            greets: false,
            bytes: Raw.frame(1, [0x44, 0x4F, 0x42, 0x4A, 1, 0, 1, 1, 1, 2, 0xC3, 0x28])),
        Attack(name: "a second Hello", rule: "a second `Hello`", reason: 5, bytes: Raw.frame(1, Raw.hello)),
        Attack(
            name: "text instead of frames", article: .frames,
            rule: "more is an error, found before memory is taken for it.", reason: 1, greets: false,
            bytes: Array("GET / HTTP/1.1\r\nHost: x\r\n\r\n".utf8)),
    ]

    static let frames = [
        Attack(
            name: "a huge length", article: .frames, rule: "more is an error, found before memory is taken for it.",
            reason: 1, bytes: Raw.frame(2, [], length: .max)),
        Attack(name: "an unknown kind", rule: "Any other kind is an error.", reason: 1, bytes: Raw.frame(77, [])),
        Attack(
            name: "a kind of a feature not agreed on", rule: "they need a feature bit that no party of version 1 sets.",
            reason: 4, bytes: Raw.frame(14, [])),
        Attack(
            name: "a ping in fragments",
            rule: "Only `Call`, `Return`, `Item` and an `End` of status 0 or 1 may come in fragments.",
            reason: 1,
            bytes: Raw.frame(11, flags: 0x80, [9, 0, 0, 0, 0, 0, 0, 0, 1])),
        Attack(
            name: "a continuation of nothing", article: .frames,
            rule: "a number that is not that of an unfinished large message", reason: 1,
            bytes: Raw.frame(255, [9, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3])),
        Attack(
            name: "content larger than allowed", rule: "a message in fragments larger than granted", reason: 1,
            bytes: Raw.frame(2, flags: 0x80, [UInt8](repeating: 0xFF, count: 8) + Raw.call())),
        Attack(
            name: "a number over 64 bits", rule: "a number that does not fit in 64 bits is an error.", reason: 1,
            bytes: Raw.frame(11, [UInt8](repeating: 0xFF, count: 11))),
        Attack(
            name: "a body longer than its content",
            rule: "Bytes after a body that the table gives completely are an error", reason: 1,
            bytes: Raw.frame(11, [0, 0, 0])),
        Attack(
            name: "an empty frame", rule: "a number, count or text beyond its limit or the frame's end", reason: 1,
            bytes: Raw.frame(6, [])),
        Attack(name: "a pong to no ping", rule: "a `Pong` to nothing", reason: 5, bytes: Raw.frame(12, [1])),
        Attack(
            name: "more barriers than allowed", rule: "the 257th that waits is an error of reason 6.", reason: 6,
            bytes:
                Raw.frame(2, flags: 0, Raw.call(body: Raw.text("x")))
                + (0..<400).flatMap { Raw.frame(10, Raw.number(UInt64($0))) }),
        Attack(
            name: "credit that was never used", rule: "more credit returned than was used", reason: 6,
            bytes: Raw.frame(7, [5])),
        Attack(
            name: "credit for large messages that was never used", rule: "more credit returned than was used",
            reason: 6,
            bytes: Raw.frame(7, flags: 1, [5])),
        Attack(
            name: "descriptors that do not come", rule: "descriptors with a frame that has none", reason: 1,
            bytes: Raw.frame(11, descriptors: 2, [1])),
        Attack(
            name: "more content than announced", article: .frames,
            rule: "bytes beyond the content length break the protocol.", reason: 1,
            bytes: Raw.frame(2, flags: 0x80, [3, 0, 0, 0, 0, 0, 0, 0] + Raw.call())
                + Raw.frame(255, [2, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4])),
        Attack(
            name: "bytes behind the tables of a message in fragments",
            rule:
                "The opener contains the complete header and tables of such a message, and nothing after them",
            reason: 1,
            bytes: Raw.frame(2, flags: 0x80, [3, 0, 0, 0, 0, 0, 0, 0] + Raw.call() + [0])),
        Attack(
            name: "the end of a message without the flag that says so", article: .frames,
            rule: "So does a continuation with flags 0 whose bytes complete the content: only 0x01 ends a message.",
            reason: 1,
            bytes: Raw.frame(2, flags: 0x80, [3, 0, 0, 0, 0, 0, 0, 0] + Raw.call())
                + Raw.frame(255, [2, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3])),
        Attack(
            name: "half a frame and then the end", article: .frames,
            rule: "The end of the stream anywhere else is an error.", reason: 1, ends: true,
            bytes: Raw.frame(2, Raw.call()).dropLast(3)),
        Attack(
            name: "the end within a message in fragments", article: .frames,
            rule: "with no large message unfinished. The end of the stream anywhere else is an error.", reason: 1,
            ends: true,
            bytes: Raw.frame(2, flags: 0x80, [3, 0, 0, 0, 0, 0, 0, 0] + Raw.call())
                + Raw.frame(255, [2, 0, 0, 0, 0, 0, 0, 0, 1])),
        Attack(
            name: "credit of an unknown kind", rule: "an unknown kind, flag or status", reason: 1,
            bytes: Raw.frame(7, flags: 9, [0])),
    ]
}
