import Testing

@testable import DistantObjects
@testable import PortTransport

/// A reader or a producer that breaks a rule of streams: the frames it sends, and the reason it is refused with.
private struct StreamFault: Sendable, CustomTestStringConvertible {
    let name: String
    let frames: [StateFrame]
    let reason: GoodbyeReason

    var testDescription: String { name }

    init(_ name: String, _ reason: GoodbyeReason, _ frames: StateFrame...) {
        (self.name, self.reason, self.frames) = (name, reason, frames)
    }

    /// Sent to the producer of stream 0, which has not started.
    static let ofReader = [
        StreamFault("credit for a stream never given", .unknownName, StateFrame(.credit, 7, 1, 1, flags: 3)),
        StreamFault("an End of a stream never given", .unknownName, StateFrame(.end, 7, flags: 4)),
        StreamFault(
            "credit after the reader's End", .outOfStep, StateFrame(.end, 0, flags: 4),
            StateFrame(.credit, 0, 1, 1, flags: 3)),
        StreamFault(
            "a second End of a reader", .outOfStep, StateFrame(.credit, 0, 1, 1, flags: 3),
            StateFrame(.end, 0, flags: 4),
            StateFrame(.end, 0, flags: 4)),
        StreamFault("more items granted than possible", .overLimit, StateFrame(.credit, 0, 1 << 41, 1, flags: 3)),
        StreamFault("more bytes granted than possible", .overLimit, StateFrame(.credit, 0, 1, .max, flags: 3)),
        StreamFault(
            "too much granted in all", .overLimit, StateFrame(.credit, 0, 1 << 40, 1, flags: 3),
            StateFrame(.credit, 0, 1 << 40, 1, flags: 3)),
        StreamFault("credit with a byte too many", .malformed, StateFrame(.credit, 0, 1, 1, 1, flags: 3)),
        StreamFault("credit that ends too early", .malformed, StateFrame(.credit, 0, 1, flags: 3)),
        StreamFault("an End of a reader with a body", .malformed, StateFrame(.end, 0, 0, flags: 4)),
        StreamFault("a stream number beyond 32 bits", .malformed, StateFrame(.end, 1 << 32, flags: 4)),
        StreamFault("items of the other side's stream", .unknownName, StateFrame(.item, 0, 1, 0, 0, 0)),
    ]

    /// Sent to the reader of stream 0, which has asked for items.
    static let ofProducer = [
        StreamFault("items of a stream never given", .unknownName, StateFrame(.item, 7, 1, 0, 0)),
        StreamFault("no items", .malformed, StateFrame(.item, 0, 0, 0, 0)),
        StreamFault("more items than granted", .overLimit, StateFrame(.item, 0, 4_097, 0, 0)),
        StreamFault("a count of items beyond all bounds", .overLimit, StateFrame(.item, 0, .max, 0, 0)),
        StreamFault("an End of an unknown status", .malformed, StateFrame(.end, 0, flags: 3)),
        StreamFault("a refusing End that ends too early", .malformed, StateFrame(.end, 0, 9, flags: 2)),
        StreamFault(
            "items after the End", .outOfStep, StateFrame(.end, 0, 9, 0, flags: 2), StateFrame(.item, 0, 1, 0, 0)),
        StreamFault(
            "a second End", .outOfStep, StateFrame(.end, 0, 9, 0, flags: 2), StateFrame(.end, 0, 9, 0, flags: 2)),
        StreamFault("credit for one's own stream", .unknownName, StateFrame(.credit, 0, 1, 1, flags: 3)),
    ]
}

@Suite("The state: peers that break the rules of streams")
struct StreamFaultTests {
    private func opened() throws -> (client: StateSide, server: StateSide, inbox: StreamInbox) {
        let (client, server) = try StateSide.pair()
        try client.call(1, streams: StreamSource())
        try server.receive(client.takeFrames())
        return (client, server, try server.takeStream())
    }

    private func expect(_ fault: StreamFault, at side: StateSide) throws {
        let error = #expect(throws: ProtocolViolation.self) { try side.receive(fault.frames) }
        #expect(error?.reason == fault.reason)
        #expect(side.takeKinds().last == .goodbye)
    }

    @Test("A reader that breaks a rule is refused with its reason", arguments: StreamFault.ofReader)
    fileprivate func readerInStreamFault(_ fault: StreamFault) throws {
        let (client, _, _) = try opened()
        try expect(fault, at: client)
    }

    @Test("A producer that breaks a rule is refused with its reason", arguments: StreamFault.ofProducer)
    fileprivate func producer(_ fault: StreamFault) throws {
        let (_, server, inbox) = try opened()
        #expect(server.begin(inbox))
        try expect(fault, at: server)
    }

    @Test("A stream that has started is not passed back")
    func passBackStarted() throws {
        let (client, server, inbox) = try opened()
        let reader = try #require(server.references.last)
        try server.call(1, streams: reader)
        let call = server.takeFrames()
        // The reader gives credit all the same.
        try client.receive(StateFrame(.credit, UInt64(inbox.number), 1, 1, flags: 3))
        let error = #expect(throws: ProtocolViolation.self) { try client.receive(call) }
        #expect(error?.reason == .outOfStep)
    }
}
