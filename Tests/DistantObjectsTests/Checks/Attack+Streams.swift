/// Violations of the rules of streams.
extension Attack {
    private static let mention = Raw.frame(2, Raw.call(references: [1, 4, 0]))
    private static let noFeature = "Either kind of entry is an error without the feature."
    private static let notOpen = "Naming a stream that is not open is an error, and so is a second `End` of one party."
    private static let feature = "a kind that needs a feature, such as `Share`"

    static let streams = [
        Attack(
            name: "a stream that was not agreed on", rule: noFeature, reason: 4,
            bytes: Raw.frame(2, Raw.call(references: [1, 4, 0]))),
        Attack(
            name: "a stream passed back that was not agreed on", rule: noFeature, reason: 4,
            bytes: Raw.frame(2, Raw.call(references: [1, 5, 0]))),
        Attack(
            name: "items that were not agreed on", rule: feature, reason: 4, bytes: Raw.frame(8, [0, 1, 0, 0, 0, 1, 5])),
        Attack(name: "an End that was not agreed on", rule: feature, reason: 4, bytes: Raw.frame(9, flags: 4, [0])),
        Attack(
            name: "credit of a stream that was not agreed on", rule: feature, reason: 4,
            bytes: Raw.frame(7, flags: 3, [0, 1, 1])),
        Attack(
            name: "items of a stream never given", rule: notOpen, reason: 4, features: 64,
            bytes: Raw.frame(8, [0, 1, 0, 0, 0, 1, 5])),
        Attack(
            name: "an End of a stream never given", rule: notOpen, reason: 4, features: 64,
            bytes: Raw.frame(9, [0, 0, 0])),
        Attack(
            name: "a reader's End of a stream never given", rule: notOpen, reason: 4, features: 64,
            bytes: Raw.frame(9, flags: 4, [0])),
        Attack(
            name: "credit for a stream never given", rule: notOpen, reason: 4, features: 64,
            bytes: Raw.frame(7, flags: 3, [0, 1, 1])),
        Attack(
            name: "a stream passed back that was never given", rule: notOpen, reason: 4, features: 64,
            bytes: Raw.frame(2, Raw.call(references: [1, 5, 9]))),
        Attack(
            name: "a number of a stream that is in use",
            rule: "the lowest one that no open stream of this producer has.", reason: 5, features: 64,
            bytes: mention + Raw.frame(2, Raw.call(question: 1, references: [1, 4, 0]))),
        Attack(
            name: "a number of a stream that skips another",
            rule: "One above a number that was never used is an error.", reason: 5, features: 64,
            bytes: Raw.frame(2, Raw.call(references: [1, 4, 1]))),
        Attack(
            name: "more streams than may be open", rule: "a number is below 1,024", reason: 6, features: 64,
            bytes: Raw.frame(2, Raw.call(references: [1, 4] + Raw.number(5_000)))),
        Attack(
            name: "a number of a stream beyond 32 bits", rule: "a number, count or text beyond its limit", reason: 1,
            features: 64, bytes: Raw.frame(2, Raw.call(references: [1, 4] + Raw.number(1 << 33)))),
        Attack(
            name: "items without credit", rule: "An `Item` has at least one item and at most as many as are granted",
            reason: 6, features: 64, bytes: mention + Raw.frame(8, [0, 1, 0, 0, 0, 1, 5])),
        Attack(
            name: "an Item without items", rule: "An `Item` has at least one item and at most as many as are granted",
            reason: 1, features: 64, bytes: mention + Raw.frame(8, [0, 0, 0, 0, 0, 0])),
        Attack(
            name: "an Item with flags", rule: "an unknown kind, flag or status", reason: 1, features: 64,
            bytes: mention + Raw.frame(8, flags: 1, [0, 1, 0, 0, 0, 1, 5])),
        Attack(
            name: "an End of an unknown status", rule: "an unknown kind, flag or status", reason: 1, features: 64,
            bytes: mention + Raw.frame(9, flags: 3, [0, 0, 0])),
        Attack(
            name: "a second End", rule: notOpen, reason: 5, features: 64,
            bytes: mention + Raw.frame(9, flags: 2, [0, 9, 0]) + Raw.frame(9, flags: 2, [0, 9, 0])),
        Attack(
            name: "items after the End", rule: "After the producer's `End` it sends nothing more about the stream.",
            reason: 5, features: 64,
            bytes: mention + Raw.frame(9, flags: 2, [0, 9, 0]) + Raw.frame(8, [0, 1, 0, 0, 0, 1, 5])),
        Attack(
            name: "a reader's End in fragments",
            rule: "Only `Call`, `Return`, `Item` and an `End` of status 0 or 1 may come in fragments.", reason: 1,
            features: 64, bytes: mention + Raw.frame(9, flags: 0x84, [1, 0, 0, 0, 0, 0, 0, 0, 0])),
        Attack(
            name: "a refusing End in fragments",
            rule: "Only `Call`, `Return`, `Item` and an `End` of status 0 or 1 may come in fragments.", reason: 1,
            features: 64, bytes: mention + Raw.frame(9, flags: 0x82, [1, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0])),
    ]
}
