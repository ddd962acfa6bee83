import Testing

@testable import DistantObjects
@testable import PortTransport

@Suite("The state: returns of promises")
struct StatePromiseReturnTests {
    enum Returned: CaseIterable {
        case early, value, references, fragments
    }

    @Test("A result of a promise is refused before its Drop, and with anything in it", arguments: Returned.allCases)
    func returned(_ fault: Returned) throws {
        let (client, _) = try StateSide.pair()
        let promise = try client.promise()
        guard case .answer(let ticket) = promise.target else { return }
        if fault != .early { client.dropPromises([ticket]) }
        var frame = StateFrame(.return)
        switch fault {
        case .early: frame.bytes = [0, 0, 0, 0, 0]
        case .value: frame.bytes = [0, 0, 0, 0, 1, 5]
        case .references: frame.bytes = [0, 1, 1, 5, 0, 0, 0, 0]
        case .fragments:
            frame.bytes = [0, 0, 0]
            frame.fragments = [0, 0]
        }
        let error = #expect(throws: ProtocolViolation.self) { try client.receive(frame) }
        #expect(error?.reason == (fault == .early ? .outOfStep : .malformed))
    }
}
