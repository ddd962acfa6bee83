extension Machine {
    /// Whether something is held that nothing will ever release.
    ///
    /// At rest, the tables of two parties without proxies must be empty.
    func leak(in state: State) -> (verdict: Verdict, sentence: String)? {
        for index in 0..<2 {
            let owner = state.parties[index]
            let holder = state.parties[1 - index]
            if owner.hasEnded {
                if !isEmpty(owner) { return (.leak, "a table has an entry after the end") }
                continue
            }
            for slot in 0..<Bound.slots {
                let entry = owner.imports[slot]
                if entry.isKnown, !entry.hasProxy, entry.pins == 0, !entry.isListed, !isLate(entry) {
                    return (.leak, "an import without proxy that nothing will release")
                }
                let export = owner.exports[slot]
                guard export.isHeld, !holder.hasEnded else { continue }
                let id = Reference(slot: slot, generation: export.generation)
                let isReferred =
                    (holder.imports[slot].isKnown && holder.imports[slot].generation == id.generation)
                    || holder.chosen[slot] == id
                    || owner.outgoing.contains { $0.mention == id }
                    || holder.outgoing.contains { $0.released[slot] == id }
                    || (owner.draft.own == .picked && owner.draft.reference == id)
                if !isReferred { return (.leak, "an export that nothing refers to and nothing will release") }
            }
        }
        return nil
    }

    /// Numbers matter only relative to each other, so they are counted from the oldest one in use.
    func normalize(_ state: inout State) {
        guard variant != .countingWithFailedEncode else { return }
        for index in 0..<2 {
            var sender = state.parties[index]
            var receiver = state.parties[1 - index]
            if sender.hasEnded {
                sender.sent = 0
                receiver.entered = 0
            } else {
                var base = receiver.hasEnded ? sender.sent : receiver.entered
                if receiver.outgoing.frames.first.isRelease {
                    base = min(base, receiver.outgoing.frames.first.watermark)
                }
                if receiver.outgoing.frames.second.isRelease {
                    base = min(base, receiver.outgoing.frames.second.watermark)
                }
                sender.sent -= base
                receiver.entered = receiver.hasEnded ? 0 : receiver.entered - base
                for slot in 0..<Bound.slots {
                    let last = sender.exports[slot].last
                    sender.exports[slot].last = last > base ? last - base : 0
                    if receiver.outgoing.frames[slot].isRelease {
                        receiver.outgoing.frames[slot].watermark -= base
                    }
                }
            }
            state.parties[index] = sender
            state.parties[1 - index] = receiver
        }
    }

    private func isEmpty(_ party: Party) -> Bool {
        (0..<Bound.slots).allSatisfy {
            !party.exports[$0].isHeld && !party.imports[$0].isKnown && !party.imports[$0].isListed
        }
    }

    private func isLate(_ entry: Import) -> Bool {
        entry.late.exists && entry.late.generation == entry.generation
    }
}
