/// A way to release references: the rule itself, or the rule with one part missing or wrong.
enum Variant: String, CaseIterable {
    case rule = "the rule"
    case noWatermark = "no watermark"
    case idAtEncode = "id chosen at encode time"
    case countedBeforeEntering = "watermark sampled before entering"
    case watermarkAfterListing = "watermark sampled after the ids were listed"
    case reorderedEntering = "reordered entering"
    case releaseOfPinned = "release of a pinned id"
    case releaseOfRevived = "release of an id that has a newer proxy"
    case resolvedAtDecode = "ids of our own resolved when decoding"
    case discardUnlisted = "message thrown away, its ids not listed"
    case commitAfterEnd = "commit that does not see the end"
    case countingWithFailedEncode = "naive counting, an encode fails"

    /// What the search must find.
    var expected: Verdict {
        switch self {
        case .rule: .safe
        case .discardUnlisted, .commitAfterEnd, .countingWithFailedEncode: .leak
        default: .unsafe
        }
    }
}

/// The verdict on a variant: what holds in every reachable state, or in the first faulty one.
enum Verdict: String {
    case safe
    case unsafe = "UNSAFE"
    case leak = "LEAK"
    /// All sleep although there is work left.
    case stuck = "STUCK"
}
