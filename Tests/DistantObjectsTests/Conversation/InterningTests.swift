import Testing

@testable import DistantObjects

/// Names, shapes and descriptions of classes that have a number from their first use on.
@Suite("The state: what is written out once")
struct InterningTests {
    private func isNew(_ reference: Naming) -> Bool {
        if case .new = reference { true } else { false }
    }

    private func isInline(_ reference: Naming) -> Bool {
        if case .inline = reference { true } else { false }
    }

    private func number(_ reference: Naming) -> UInt32? {
        if case .known(let number) = reference { number } else { nil }
    }

    @Test("The first 4,096 get numbers, those behind them are written out each time, and the receiver agrees")
    func count() throws {
        var sent = OutboundInterning<Int>()
        var received = InboundInterning<Int>()
        for key in 0..<4_096 {
            #expect(isNew(sent.reference(to: key)))
            try received.append(key)
        }
        for _ in 0..<2 { #expect(isInline(sent.reference(to: 4_096))) }
        for key in [0, 1, 4_095] {
            #expect(number(sent.reference(to: key)) == UInt32(key))
            #expect(try received[UInt64(key)] == key)
        }
        let error = #expect(throws: ProtocolViolation.self) { try received.append(4_096) }
        #expect(error?.reason == .overLimit)
    }

    @Test("Definitions of 4 MiB get numbers, and what would be more is written out each time")
    func bytesInInterning() throws {
        let half = 2 << 20
        var sent = OutboundInterning<Int>()
        var received = InboundInterning<Int>()
        #expect(isNew(sent.reference(to: 1, taking: half)) && isNew(sent.reference(to: 2, taking: half - 1)))
        #expect(isInline(sent.reference(to: 3, taking: 2)))
        #expect(isNew(sent.reference(to: 4, taking: 1)))
        #expect(isInline(sent.reference(to: 5, taking: 1)))
        #expect(number(sent.reference(to: 4, taking: 1)) == 2)
        for size in [half, half - 1, 1] { try received.append(0, taking: size) }
        #expect(throws: ProtocolViolation.self) { try received.append(0, taking: 1) }
    }

    @Test("A definition that has no room in its message gets a number in a later one")
    func roomInInterning() {
        var sent = OutboundInterning<Int>()
        #expect(isInline(sent.reference(to: 1, taking: 100, within: 99)))
        #expect(isNew(sent.reference(to: 1, taking: 100, within: 100)))
    }
}
