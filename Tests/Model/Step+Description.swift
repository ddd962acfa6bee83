extension Step {
    /// The step as a line of a trace; the parties are A and B, an id is `slot.generation`.
    func description(by party: Int, in state: State) -> String {
        let name = party == 0 ? "A" : "B"
        let own = state.parties[party]
        let other = state.parties[1 - party]
        func id(_ reference: Reference) -> String { "\(reference.slot).\(reference.generation)" }
        func id(importedAt slot: Int) -> String { "\(slot).\(own.imports[slot].generation)" }

        switch self {
        case .begin(let kind, let slot, let proxy):
            var parts: [String] = []
            if kind == .fresh { parts.append("an object not exported") }
            if kind == .exported { parts.append("its object \(slot).\(own.exports[slot].generation)") }
            if let proxy { parts.append("the proxy \(id(importedAt: proxy))") }
            return "\(name) encodes " + parts.joined(separator: " and ")
        case .failEncode: return "\(name)'s encode fails"
        case .commit: return "\(name) commits"
        case .countAhead: return "\(name) counts a message"
        case .enter(let index):
            let frame = other.outgoing.frames[index]
            var parts: [String] = []
            if frame.mention.exists { parts.append("a mention of \(id(frame.mention))") }
            if frame.home.exists { parts.append("a message for its own \(id(frame.home))") }
            for slot in 0..<Bound.slots where frame.released[slot].exists {
                parts.append("a release of \(id(frame.released[slot])) up to \(frame.watermark)")
            }
            return "\(name) enters " + parts.joined(separator: " and ")
        case .resolve: return "\(name) resolves its own \(id(own.unresolved))"
        case .decode(let slot): return "\(name) decodes \(id(importedAt: slot))"
        case .discard(let slot): return "\(name) throws away a message with \(id(importedAt: slot))"
        case .drop(let slot): return "\(name) drops its proxy \(id(importedAt: slot))"
        case .deinitialize(let slot): return "\(name)'s proxy \(id(own.imports[slot].late)) is freed"
        case .chooseReleases: return "\(name) lists what to release"
        case .release: return "\(name) releases"
        case .end(let arriving):
            let lost = own.outgoing.count - arriving
            return "\(name) ends" + (lost > 0 ? ", \(lost) frames lost" : "")
        }
    }
}
