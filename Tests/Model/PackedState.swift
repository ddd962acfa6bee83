/// A state in 32 bytes, half of it for each party.
///
/// The parties are symmetric, so a state and its mirror image are equal: the smaller half comes first.
struct PackedState: Equatable {
    private var low: UInt128
    private var high: UInt128

    init(_ state: State) {
        let first = Self.pack(state.parties.first, state.messagesLeft)
        let second = Self.pack(state.parties.second, state.messagesLeft)
        (low, high) = first <= second ? (first, second) : (second, first)
    }

    /// The state, or its mirror image.
    var unpacked: State {
        var state = State()
        Self.unpack(low, &state.parties.first, &state.messagesLeft)
        Self.unpack(high, &state.parties.second, &state.messagesLeft)
        return state
    }

    var hash: UInt64 {
        func mix(_ hash: UInt64, _ word: UInt64) -> UInt64 {
            let product = (hash ^ word).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
            return product.high ^ product.low
        }
        var hash = mix(0x9E37_79B9_7F4A_7C15, UInt64(truncatingIfNeeded: low))
        hash = mix(hash, UInt64(truncatingIfNeeded: low >> 64))
        hash = mix(hash, UInt64(truncatingIfNeeded: high))
        return mix(hash &+ 0x9E37_79B9_7F4A_7C15, UInt64(truncatingIfNeeded: high >> 64))
    }

    private static func pack(_ party: Party, _ messagesLeft: UInt8) -> UInt128 {
        var (party, messagesLeft) = (party, messagesLeft)
        var writer = BitWriter()
        writer.visit(&party)
        writer.field(&messagesLeft, bits: 3)
        return writer.word
    }

    private static func unpack(_ word: UInt128, _ party: inout Party, _ messagesLeft: inout UInt8) {
        var reader = BitReader(word: word)
        reader.visit(&party)
        reader.field(&messagesLeft, bits: 3)
    }
}

/// Visits the fields of a party; packing and unpacking share the list of fields and so cannot disagree.
private protocol FieldVisitor {
    mutating func field(_ value: inout UInt8, bits: UInt8)
}

private struct BitWriter: FieldVisitor {
    var word: UInt128 = 0
    var position: UInt8 = 0

    mutating func field(_ value: inout UInt8, bits: UInt8) {
        precondition(value >> bits == 0, "a field outgrew its bits")
        word |= UInt128(value) &<< UInt128(position)
        position += bits
        precondition(position <= 128, "a party outgrew its word")
    }
}

private struct BitReader: FieldVisitor {
    var word: UInt128

    mutating func field(_ value: inout UInt8, bits: UInt8) {
        value = UInt8(truncatingIfNeeded: word) & (1 &<< bits &- 1)
        word &>>= UInt128(bits)
    }
}

extension FieldVisitor {
    mutating func visit(_ party: inout Party) {
        visit(&party.exports.first)
        visit(&party.exports.second)
        visit(&party.imports.first)
        visit(&party.imports.second)
        visit(&party.draft)
        field(&party.outgoing.count, bits: 2)
        visit(&party.outgoing.frames.first)
        visit(&party.outgoing.frames.second)
        field(&party.sent, bits: 3)
        field(&party.entered, bits: 3)
        flag(&party.hasEnded)
        flag(&party.isCountedAhead)
        reference(&party.unresolved)
        reference(&party.chosen.first)
        reference(&party.chosen.second)
    }

    private mutating func visit(_ export: inout Export) {
        flag(&export.isHeld)
        field(&export.generation, bits: 2)
        field(&export.last, bits: 3)
    }

    private mutating func visit(_ entry: inout Import) {
        flag(&entry.isKnown)
        field(&entry.generation, bits: 2)
        flag(&entry.hasProxy)
        field(&entry.pins, bits: 2)
        flag(&entry.isListed)
        reference(&entry.late)
        field(&entry.received, bits: 3)
    }

    private mutating func visit(_ draft: inout Draft) {
        var own = draft.own.rawValue
        field(&own, bits: 2)
        draft.own = Draft.Own(rawValue: own) ?? .none
        reference(&draft.reference)
        field(&draft.proxy, bits: 2)
    }

    private mutating func visit(_ frame: inout Frame) {
        reference(&frame.mention)
        reference(&frame.home)
        reference(&frame.released.first)
        reference(&frame.released.second)
        field(&frame.watermark, bits: 3)
    }

    private mutating func reference(_ reference: inout Reference) {
        field(&reference.bits, bits: 4)
    }

    private mutating func flag(_ value: inout Bool) {
        var bit: UInt8 = value ? 1 : 0
        field(&bit, bits: 1)
        value = bit == 1
    }
}
