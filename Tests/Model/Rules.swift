/// A possible step of a party.
///
/// Each case is one critical section of the implementation, so nothing happens between its parts.
enum Step: Equatable {
    case begin(own: Draft.Own, slot: Int, proxy: Int?)
    case failEncode
    case commit
    case countAhead
    case enter(index: Int)
    case resolve
    case decode(slot: Int)
    case discard(slot: Int)
    case drop(slot: Int)
    case deinitialize(slot: Int)
    case chooseReleases
    case release
    case end(arriving: UInt8)
}

/// The transitions of a variant: from one state to every state that can follow it.
struct Machine {
    let variant: Variant

    /// The result of a step: a state, or a sentence that describes the fault in it.
    struct Outcome {
        var state: State
        var fault: (verdict: Verdict, sentence: String)?
    }

    private var counts: Bool { variant == .countingWithFailedEncode }

    /// Calls `body` for every step possible in `state`.
    func forEachStep(from state: State, _ body: (_ party: Int, Step, Outcome) -> Void) {
        for party in 0..<2 {
            forEachStep(of: party, in: state) { step in
                var outcome = Outcome(state: state)
                perform(step, by: party, &outcome)
                if outcome.fault == nil {
                    normalize(&outcome.state)
                    outcome.fault = leak(in: outcome.state)
                }
                body(party, step, outcome)
            }
        }
    }

    // MARK: What is possible

    private func forEachStep(of party: Int, in state: State, _ body: (Step) -> Void) {
        let own = state.parties[party]
        let other = state.parties[1 - party]
        let room = own.outgoing.count < Bound.channel && own.sent < Bound.number

        if own.draft.isEmpty {
            if !own.hasEnded, state.messagesLeft > 0 { forEachDraft(of: own, body) }
        } else {
            body(.failEncode)
            if own.hasEnded || (room && state.messagesLeft > 0) { body(.commit) }
        }
        for slot in 0..<Bound.slots {
            let entry = own.imports[slot]
            if entry.pins > 0 {
                body(.decode(slot: slot))
                body(.discard(slot: slot))
            }
            if entry.hasProxy, Int(own.draft.proxy) != slot + 1, !entry.late.exists { body(.drop(slot: slot)) }
            if entry.late.exists { body(.deinitialize(slot: slot)) }
        }
        guard !own.hasEnded else { return }

        if own.unresolved.exists { body(.resolve) }
        if other.outgoing.count > 0, !(own.unresolved.exists && other.outgoing.frames.first.home.exists) {
            if variant == .countedBeforeEntering, !own.isCountedAhead {
                body(.countAhead)
            } else {
                let indexes = variant == .reorderedEntering ? Int(other.outgoing.count) : 1
                for index in 0..<indexes where canPin(other.outgoing.frames[index].mention, own) {
                    body(.enter(index: index))
                }
            }
        }
        let isListed = own.imports.first.isListed || own.imports.second.isListed
        if variant == .watermarkAfterListing {
            let hasChosen = own.chosen.first.exists || own.chosen.second.exists
            if isListed, !hasChosen { body(.chooseReleases) }
            if hasChosen, room { body(.release) }
        } else if isListed, room {
            body(.release)
        }
        for arriving in 0...own.outgoing.count { body(.end(arriving: arriving)) }
    }

    private func canPin(_ mention: Reference, _ party: Party) -> Bool {
        !mention.exists || party.imports[mention.slot].pins < Bound.pins
    }

    private func forEachDraft(of party: Party, _ body: (Step) -> Void) {
        for proxy in -1..<Bound.slots where proxy < 0 || party.imports[proxy].hasProxy {
            let proxy = proxy < 0 ? nil : proxy
            if proxy != nil { body(.begin(own: .none, slot: 0, proxy: proxy)) }
            if freeSlot(of: party) != nil { body(.begin(own: .fresh, slot: 0, proxy: proxy)) }
            for slot in 0..<Bound.slots where party.exports[slot].isHeld {
                body(.begin(own: .exported, slot: slot, proxy: proxy))
            }
        }
    }

    private func freeSlot(of party: Party) -> Int? {
        (0..<Bound.slots).first {
            !party.exports[$0].isHeld && party.exports[$0].generation < Bound.generations
        }
    }

    // MARK: What happens

    private func perform(_ step: Step, by party: Int, _ outcome: inout Outcome) {
        switch step {
        case .begin(let own, let slot, let proxy):
            begin(own, slot, proxy, &outcome.state.parties[party])
        case .failEncode:
            failEncode(&outcome.state.parties[party])
        case .commit:
            commit(party, &outcome.state)
        case .countAhead:
            outcome.state.parties[party].isCountedAhead = true
        case .enter(let index):
            enter(index, party, &outcome)
        case .resolve:
            let reference = outcome.state.parties[party].unresolved
            outcome.state.parties[party].unresolved = .none
            resolve(reference, party, &outcome)
        case .decode(let slot):
            outcome.state.parties[party].imports[slot].pins -= 1
            outcome.state.parties[party].imports[slot].hasProxy = true
        case .discard(let slot):
            discard(slot, &outcome.state.parties[party])
        case .drop(let slot):
            let generation = outcome.state.parties[party].imports[slot].generation
            outcome.state.parties[party].imports[slot].hasProxy = false
            outcome.state.parties[party].imports[slot].late = Reference(slot: slot, generation: generation)
        case .deinitialize(let slot):
            let entry = outcome.state.parties[party].imports[slot]
            outcome.state.parties[party].imports[slot].late = .none
            if entry.isKnown, entry.late.generation == entry.generation {
                outcome.state.parties[party].imports[slot].isListed = true
            }
        case .chooseReleases:
            outcome.state.parties[party].chosen = chooseReleases(&outcome.state.parties[party])
        case .release:
            release(party, &outcome.state)
        case .end(let arriving):
            end(party, arriving, &outcome.state)
        }
    }

    private func begin(_ own: Draft.Own, _ slot: Int, _ proxy: Int?, _ party: inout Party) {
        party.draft.proxy = proxy.map { UInt8($0 + 1) } ?? 0
        party.draft.own = own
        switch own {
        case .none, .picked:
            break
        case .fresh:
            guard variant == .idAtEncode || counts, let free = freeSlot(of: party) else { break }
            party.exports[free].isHeld = true
            party.exports[free].last = counts ? 1 : 0
            party.draft.own = .picked
            party.draft.reference = Reference(slot: free, generation: party.exports[free].generation)
        case .exported:
            party.draft.reference = Reference(slot: slot, generation: party.exports[slot].generation)
            if counts {
                party.draft.own = .picked
                party.exports[slot].last += 1
            }
        }
    }

    /// Ends a failed encode, which has changed nothing in the rule itself.
    ///
    /// In one variant it gives back the slot it has taken; in another it forgets to undo its count.
    private func failEncode(_ party: inout Party) {
        if variant == .idAtEncode, party.draft.own == .picked { free(party.draft.reference.slot, &party) }
        party.draft = Draft()
    }

    /// Commits a message in one critical section.
    ///
    /// Finds or allocates ids, writes their watermarks, takes the message's number, and appends the frame.
    private func commit(_ index: Int, _ state: inout State) {
        var party = state.parties[index]
        defer { state.parties[index] = party }
        let draft = party.draft
        party.draft = Draft()
        if party.hasEnded, variant != .commitAfterEnd { return }

        var frame = Frame()
        if draft.proxy > 0 {
            let slot = Int(draft.proxy) - 1
            guard party.imports[slot].isKnown else { return }
            frame.home = Reference(slot: slot, generation: party.imports[slot].generation)
        }
        switch draft.own {
        case .none: break
        case .picked: frame.mention = draft.reference
        case .exported:
            let export = party.exports[draft.reference.slot]
            let isSame = export.isHeld && export.generation == draft.reference.generation
            if isSame || variant == .idAtEncode { frame.mention = draft.reference } else { fallthrough }
        case .fresh:
            // The table is full: the encode fails without any change.
            guard let slot = freeSlot(of: party) else { return }
            party.exports[slot].isHeld = true
            frame.mention = Reference(slot: slot, generation: party.exports[slot].generation)
        }
        if !party.hasEnded { state.messagesLeft -= 1 }
        if !counts {
            party.sent += 1
            if frame.mention.exists { party.exports[frame.mention.slot].last = party.sent }
        }
        send(frame, &party, to: state.parties[1 - index])
    }

    private func send(_ frame: Frame, _ party: inout Party, to other: Party) {
        if !party.hasEnded, !other.hasEnded { party.outgoing.append(frame) }
    }

    /// The reading thread's part of a message: enters the header and the table, before it reads the next message.
    private func enter(_ index: Int, _ receiver: Int, _ outcome: inout Outcome) {
        let frame = outcome.state.parties[1 - receiver].outgoing.remove(at: index)
        let sender = outcome.state.parties[1 - receiver]
        if !counts { outcome.state.parties[receiver].entered += 1 }
        outcome.state.parties[receiver].isCountedAhead = false

        if frame.mention.exists {
            let (slot, generation) = (frame.mention.slot, frame.mention.generation)
            let export = sender.exports[slot]
            if !sender.hasEnded, !export.isHeld || export.generation != generation {
                outcome.fault = (.unsafe, "the message mentions an object that its owner has freed")
                return
            }
            var entry = outcome.state.parties[receiver].imports[slot]
            if entry.isKnown, entry.generation != generation {
                outcome.fault = (.unsafe, "the slot is used again while its former object is still referred to")
                return
            }
            if !entry.isKnown { entry.received = 0 }
            entry.isKnown = true
            entry.generation = generation
            entry.pins += 1
            entry.isListed = false
            if counts { entry.received += 1 }
            outcome.state.parties[receiver].imports[slot] = entry
        }
        if frame.home.exists {
            if variant == .resolvedAtDecode {
                outcome.state.parties[receiver].unresolved = frame.home
            } else {
                resolve(frame.home, receiver, &outcome)
            }
        }
        for slot in 0..<Bound.slots where frame.released[slot].exists {
            enterRelease(of: frame.released[slot], frame.watermark, receiver, &outcome)
        }
    }

    private func resolve(_ reference: Reference, _ owner: Int, _ outcome: inout Outcome) {
        let export = outcome.state.parties[owner].exports[reference.slot]
        if !export.isHeld {
            outcome.fault = (.unsafe, "the message is for an object that was freed")
        } else if export.generation != reference.generation {
            outcome.fault = (.unsafe, "the message reaches another object than its sender meant")
        }
    }

    private func enterRelease(of id: Reference, _ watermark: UInt8, _ owner: Int, _ outcome: inout Outcome) {
        guard outcome.fault == nil else { return }
        var export = outcome.state.parties[owner].exports[id.slot]
        guard export.isHeld, export.generation == id.generation else {
            outcome.fault = (.unsafe, "an honest party releases an id that is not held")
            return
        }
        if counts {
            guard export.last >= watermark else {
                outcome.fault = (.unsafe, "the count falls below zero")
                return
            }
            export.last -= watermark
            outcome.state.parties[owner].exports[id.slot] = export
            if export.last > 0 { return }
        } else if variant != .noWatermark, export.last > watermark {
            return
        }
        let state = outcome.state
        let holder = state.parties[1 - owner]
        let entry = holder.imports[id.slot]
        if state.parties[owner].outgoing.contains({ $0.mention == id }) {
            outcome.fault = (.unsafe, "the object is freed while a message under way mentions it")
        } else if entry.generation == id.generation, entry.hasProxy || entry.pins > 0 {
            let what = entry.hasProxy ? "a proxy stands for it" : "it is pinned"
            outcome.fault = (.unsafe, "the object is freed while \(what)")
        }
        free(id.slot, &outcome.state.parties[owner])
    }

    private func free(_ slot: Int, _ party: inout Party) {
        party.exports[slot].isHeld = false
        party.exports[slot].last = 0
        party.exports[slot].generation += 1
    }

    /// Discards a message undecoded, because it is late, refused, cancelled or corrupt.
    private func discard(_ slot: Int, _ party: inout Party) {
        party.imports[slot].pins -= 1
        let entry = party.imports[slot]
        if entry.isKnown, entry.pins == 0, !entry.hasProxy, variant != .discardUnlisted {
            party.imports[slot].isListed = true
        }
    }

    /// Empties the list of ids to release; leaves out ids with a new proxy or pin, whose end will list them again.
    private func chooseReleases(_ party: inout Party) -> Pair<Reference> {
        var chosen = Pair(Reference.none)
        for slot in 0..<Bound.slots where party.imports[slot].isListed {
            // A count goes with each id, and a frame in the model has room for only one.
            if counts, chosen.first.exists { continue }
            party.imports[slot].isListed = false
            let entry = party.imports[slot]
            if entry.hasProxy, variant != .releaseOfRevived { continue }
            if entry.pins > 0, variant != .releaseOfPinned { continue }
            chosen[slot] = Reference(slot: slot, generation: entry.generation)
            party.imports[slot].isKnown = false
        }
        return chosen
    }

    private func release(_ index: Int, _ state: inout State) {
        var party = state.parties[index]
        defer { state.parties[index] = party }
        var frame = Frame()
        if variant == .watermarkAfterListing {
            frame.released = party.chosen
            party.chosen = Pair(.none)
        } else {
            frame.released = chooseReleases(&party)
        }
        guard frame.isRelease else { return }
        if counts {
            frame.watermark = party.imports[frame.released.first.exists ? 0 : 1].received
        } else {
            frame.watermark = party.entered + (party.isCountedAhead ? 1 : 0)
            party.sent += 1
        }
        send(frame, &party, to: state.parties[1 - index])
    }

    /// Ends a party, because it dies or sees that the other has died.
    ///
    /// Some of what it wrote may still arrive; its own tables are emptied.
    private func end(_ index: Int, _ arriving: UInt8, _ state: inout State) {
        var party = Party()
        party.hasEnded = true
        // A task that is encoding, and a proxy that is being freed, see the end only when they next access the tables.
        party.draft = state.parties[index].draft
        party.imports.first.late = state.parties[index].imports.first.late
        party.imports.second.late = state.parties[index].imports.second.late
        party.outgoing = state.parties[index].outgoing
        party.outgoing.truncate(to: arriving)
        state.parties[index] = party
        state.parties[1 - index].outgoing = Channel()
        if state.parties[1 - index].hasEnded { state.parties[index].outgoing = Channel() }
    }
}
