/// Violations of the rules of messages, tables, answers and shared memory.
extension Attack {
    static let calls = [
        Attack(
            name: "unknown flags of a call", rule: "an unknown kind, flag or status", reason: 1,
            bytes: Raw.frame(2, flags: 0x40, Raw.call())),
        Attack(
            name: "a target never given", rule: "an unknown name: an object", reason: 4,
            bytes: Raw.frame(2, Raw.call(slot: 7))),
        Attack(
            name: "a slot beyond 32 bits",
            rule: "A question, a slot and a generation have at most 32 bits; a larger `n` in their place is an error.",
            reason: 1, bytes: Raw.frame(2, Raw.call(slot: 1 << 40))),
        Attack(
            name: "a stale generation", rule: "another generation than the current one", reason: 5,
            bytes: Raw.frame(2, Raw.call(generation: 1))),
        Attack(
            name: "a question's number over the limit", rule: "below the receiver's queued calls + running calls + 64",
            reason: 6, bytes: Raw.frame(2, Raw.call(question: 100_000))),
        Attack(
            name: "a question asked twice", rule: "a question in use", reason: 5,
            bytes: Raw.frame(2, Raw.call()) + Raw.frame(2, Raw.call())),
        Attack(
            name: "a name never interned", rule: "an interned name, shape or class", reason: 4,
            bytes: Raw.frame(2, Raw.call(name: [40]))),
        Attack(
            name: "a name that is not UTF-8", rule: "`n` bytes, then so many bytes of valid UTF-8", reason: 1,
            bytes: Raw.frame(2, Raw.call(name: [0, 2, 0xC3, 0x28]))),
        Attack(
            name: "a name longer than the frame", rule: "a number, count or text beyond its limit or the frame's end",
            reason: 1,
            bytes: Raw.frame(2, Raw.call(name: [0] + Raw.number(1 << 30)))),
        Attack(
            name: "a name longer than allowed", rule: "A name is at most 1,024 bytes long.", reason: 1,
            bytes: Raw.frame(2, Raw.call(name: [0] + Raw.text(String(repeating: "x", count: 2_000))))),
        Attack(
            name: "a question beyond 32 bits",
            rule: "A question, a slot and a generation have at most 32 bits; a larger `n` in their place is an error.",
            reason: 1, bytes: Raw.frame(2, Raw.call(question: 1 << 32))),
        Attack(
            name: "a generation beyond 32 bits",
            rule: "A question, a slot and a generation have at most 32 bits; a larger `n` in their place is an error.",
            reason: 1, bytes: Raw.frame(2, Raw.call(generation: 1 << 32))),
        Attack(
            name: "a cancel of nothing", rule: "one of a number never used is an error.", reason: 4,
            bytes: Raw.frame(4, [9])),
        Attack(
            name: "a cancel of a question that was skipped", rule: "That holds as well if a larger one was used.",
            reason: 4,
            bytes: Raw.frame(2, Raw.call(question: 9)) + Raw.frame(4, [3])),
        Attack(
            name: "a drop of a question that was skipped", rule: "That holds as well if a larger one was used.",
            reason: 4,
            bytes: Raw.frame(2, Raw.call(question: 9)) + Raw.frame(5, [3])),
        Attack(
            name: "a drop of nothing", rule: "one of a number never used is an error.", reason: 4,
            bytes: Raw.frame(5, [9])),
        Attack(
            name: "more names than may be interned",
            rule: "Interned names are numbered from 0 by each sender, in the order of its openers, at most 4,096.",
            reason: 6,
            bytes: (0..<4_200).flatMap { number in
                Raw.frame(2, flags: 1, Array(Raw.call(name: [0] + Raw.text("n\(number)")).dropFirst()))
            }),
    ]

    /// A table of 1,000 references, in the slots behind `slot`, each with a class of its own.
    private static func manyClasses(_ slot: UInt64) -> [UInt8] {
        var bytes = Raw.number(1_000)
        for number in 1...1_000 as ClosedRange<UInt64> { bytes += [2] + Raw.number(slot + number) + [0, 0, 1, 9] }
        return bytes
    }

    /// A table of four references, each with a class of its own whose description is as long as one may be.
    private static func longClasses(_ slot: UInt64) -> [UInt8] {
        var bytes = Raw.number(4)
        for number in 1...4 as ClosedRange<UInt64> {
            bytes += [2] + Raw.number(slot + number) + [0, 0] + Raw.number(12_288)
            bytes += [UInt8](repeating: 9, count: 12_288)
        }
        return bytes
    }

    static let references = [
        Attack(
            name: "more references than bytes", rule: "a number, count or text beyond its limit or the frame's end",
            reason: 1,
            bytes: Raw.frame(2, Raw.call(references: Raw.number(1 << 40)))),
        Attack(
            name: "a reference of neither side", rule: "an unknown kind, flag or status", reason: 1,
            bytes: Raw.frame(2, Raw.call(references: [1, 3, 0, 0]))),
        Attack(
            name: "a reference to an object never given",
            rule: "Naming an id whose generation is not the current one, or a slot never given, is an error", reason: 4,
            bytes: Raw.frame(2, Raw.call(references: [1, 0, 9, 0]))),
        Attack(
            name: "an id given anew before its release",
            rule: "the same object is always the same id on one connection.", reason: 5,
            bytes:
                Raw.frame(2, Raw.call(references: [1, 1, 5, 0]))
                + Raw.frame(2, Raw.call(question: 1, references: [1, 1, 5, 1]))),
        Attack(
            name: "more references than one message may have",
            rule: "is `n`, the number of entries (at most 4,096), and for each a `u8` and an `id`", reason: 6,
            bytes: Raw.frame(
                2, Raw.call(references: Raw.number(4_097) + (0..<4_097).flatMap { [1] + Raw.number($0 + 1) + [0] }))),
        Attack(
            name: "a release of an object never given",
            rule: "or a slot never given, is an error, also in a `Release`.", reason: 4,
            bytes: Raw.frame(6, [0, 1, 9, 0])),
        Attack(
            name: "a release of the root directory", rule: "a release of the root directory", reason: 5,
            bytes: Raw.frame(6, [1, 1, 0, 0])),
        Attack(
            name: "a release from the future", rule: "an opener not sent yet", reason: 4,
            bytes: Raw.frame(6, Raw.number(1 << 50) + [0])),
        Attack(
            name: "a release with more ids than bytes",
            rule: "a number, count or text beyond its limit or the frame's end", reason: 1,
            bytes: Raw.frame(6, [1] + Raw.number(1 << 50))),
        Attack(
            name: "a class that was not agreed on",
            rule: "An entry that begins with 2 is an error without the feature", reason: 4,
            bytes: Raw.frame(2, Raw.call(references: [1, 2, 5, 0, 0, 3, 1, 0x78, 0]))),
        Attack(
            name: "a class of the root directory", rule: "and for the root directory.", reason: 4, features: 16,
            bytes: Raw.frame(2, Raw.call(references: [1, 2, 0, 0, 0, 3, 1, 0x78, 0]))),
        Attack(
            name: "a class never described", rule: "an interned name, shape or class", reason: 4, features: 16,
            bytes: Raw.frame(2, Raw.call(references: [1, 2, 5, 0, 1]))),
        Attack(
            name: "a description longer than the frame",
            rule: "a number, count or text beyond its limit or the frame's end", reason: 1, features: 16,
            bytes: Raw.frame(2, Raw.call(references: [1, 2, 5, 0, 0, 100, 1]))),
        Attack(
            name: "a description that is too long", rule: "a description has at most 12,288 bytes", reason: 6,
            features: 16,
            bytes: Raw.frame(
                2, Raw.call(references: [1, 2, 5, 0, 0] + Raw.number(12_289) + [UInt8](repeating: 1, count: 12_289)))),
        Attack(
            name: "more classes than may be described",
            rule: "Classes are numbered like names, at most 4,096", reason: 6, features: 16,
            bytes: (0..<5).flatMap { Raw.frame(2, Raw.call(question: $0, references: manyClasses($0 * 1_000))) }),
        Attack(
            name: "more bytes of descriptions than allowed",
            rule: "descriptions of one sender together have at most 4 MiB (4,194,304 bytes)", reason: 6, features: 16,
            bytes: (0..<86).flatMap { Raw.frame(2, Raw.call(question: $0, references: longClasses($0 * 4))) }),
        Attack(
            name: "a shape never interned", rule: "an interned name, shape or class", reason: 4,
            bytes: Raw.frame(2, Raw.call(shapes: [1, 40]))),
        Attack(
            name: "the root directory under another generation",
            rule: "So is a reference to slot 0, the root directory, with another generation than 0.", reason: 5,
            bytes: Raw.frame(2, Raw.call(references: [1, 1, 0, 1]))),
        Attack(
            name: "more shapes than bytes", rule: "a number, count or text beyond its limit or the frame's end",
            reason: 1, bytes: Raw.frame(2, Raw.call(shapes: Raw.number(1 << 60)))),
    ]

    /// A call to the root directory whose answer is kept under the question 0.
    private static let kept = Raw.frame(2, flags: 20, Raw.call(body: [0, 1, 0x80]))

    static let promises = [
        Attack(
            name: "a message to an answer without the feature",
            rule: "Flags 8 and 16, and kind 3, are errors without the feature.", reason: 1,
            bytes: Raw.frame(2, flags: 8, [0, 0, 2, 0, 0, 0])),
        Attack(
            name: "a promise without the feature",
            rule: "Flags 8 and 16, and kind 3, are errors without the feature.", reason: 1, bytes: kept),
        Attack(
            name: "an answer as an argument without the feature",
            rule: "Flags 8 and 16, and kind 3, are errors without the feature.", reason: 1,
            bytes: Raw.frame(2, Raw.call(references: [1, 3, 0, 0]))),
        Attack(
            name: "a message to an answer that was not asked for", rule: "an answer that is not kept", reason: 4,
            features: 32, bytes: Raw.frame(2, flags: 8, [1, 0, 2, 0, 0, 0])),
        Attack(
            name: "a message to the answer of a call that does not keep it", rule: "an answer that is not kept",
            reason: 4, features: 32,
            bytes: Raw.frame(2, Raw.call()) + Raw.frame(2, flags: 8, [1, 0, 2, 0, 0, 0])),
        Attack(
            name: "a message to a dropped answer",
            rule: "from the `Call` that asks for it, which sets flag 4, until the sender's `Drop`.", reason: 4,
            features: 32, bytes: kept + Raw.frame(5, [0]) + Raw.frame(2, flags: 8, [1, 0, 2, 0, 0, 0])),
        Attack(
            name: "an argument that is no kept answer", rule: "Naming any other is an error.", reason: 4, features: 32,
            bytes: kept + Raw.frame(2, Raw.call(question: 1, name: [2], references: [1, 3, 7]))),
        Attack(
            name: "a question of a promise that is asked again", rule: "a question in use", reason: 5, features: 32,
            bytes: kept + kept),
    ]

    static let metadata = [
        Attack(
            name: "metadata without the feature", rule: "Flag 32 is an error without feature bit 128", reason: 1,
            bytes: Raw.frame(2, flags: 32, Raw.number(0) + [0, 0] + [2, 0, 0, 0, 0, 0])),
        Attack(
            name: "metadata longer than allowed", rule: "with flag 32, `n` bytes, at most 4,096", reason: 6,
            features: 128, bytes: Raw.frame(2, flags: 32, longMetadata)),
        Attack(
            name: "metadata that is no pair", rule: "pairs of `text`, a key and a value.", reason: 1, features: 128,
            bytes: Raw.frame(2, flags: 32, [0, 0, 0, 0] + Raw.text("root") + [2, 1, 0x78, 1, 0, 0, 0])),
    ]

    private static let longMetadata =
        [0, 0, 0, 0] + Raw.text("root") + Raw.number(4_097) + [UInt8](repeating: 0, count: 4_097) + [1, 0, 0, 0]

    static let answers = [
        Attack(
            name: "a reply to no question", rule: "a question (in `Return`, `Cancel`, `Drop`)", reason: 4,
            bytes: Raw.frame(3, [0, 0, 0])),
        Attack(
            name: "a reply with an unknown status", rule: "an unknown kind, flag or status", reason: 1,
            bytes: Raw.frame(3, flags: 9, [0, 0, 0])),
        Attack(
            name: "a failure of a frame never sent", rule: "an opener not sent yet", reason: 4,
            bytes: Raw.frame(13, [100, 1, 0])),
        Attack(
            name: "a failure of what is no one-way message", rule: "in `Failed` one that is no one-way message",
            reason: 4, bytes: Raw.frame(13, [1, 1, 0])),
        Attack(
            name: "credit for one-way messages without the feature", rule: "`Credit` with flag 2 is an error then.",
            reason: 4, bytes: Raw.frame(7, flags: 2, [1])),
        Attack(
            name: "credit for one-way messages that was never used", rule: "more credit returned than was used",
            reason: 6, features: 4,
            bytes: Raw.frame(7, flags: 2, [1])),
        Attack(
            name: "a goodbye from the future", rule: "an opener not sent yet", reason: 4,
            bytes: Raw.frame(16, Raw.number(1 << 40) + [0, 0])),
    ]

    static let (ask, give, move) = (Raw.frame(17, []), Raw.frame(17, flags: 1, []), Raw.frame(17, flags: 2, []))

    static let shares = [
        Attack(
            name: "asking for memory that was not agreed on", rule: "a kind that needs a feature, such as `Share`",
            reason: 4, bytes: ask),
        Attack(
            name: "an unknown step to shared memory", rule: "an unknown kind, flag or status", reason: 1,
            bytes: Raw.frame(17, flags: 9, [])),
        Attack(
            name: "a step to shared memory with a body", rule: "bytes after a complete body", reason: 1, features: 3,
            bytes: Raw.frame(17, [1])),
        Attack(name: "memory from who has to ask", rule: "a `Share` out of order", reason: 5, features: 3, bytes: give),
        Attack(
            name: "memory asked for twice", rule: "the initiator may ask, once and at any time", reason: 5, features: 3,
            bytes: ask + ask),
        Attack(name: "moving to no memory", rule: "a `Share` out of order", reason: 5, features: 3, bytes: move),
    ]

    static let goodbyes = [
        Attack(
            name: "a second goodbye",
            rule: "are processed as if they came before it, except a second `Goodbye`, which is an error.", reason: 5,
            bytes: Raw.frame(16, [1, 0, 0]) + Raw.frame(16, [1, 0, 0]))
    ]
}
