import KeyedArchive

@testable import DistantObjects
@testable import PortTransport

// Messages to the other side.
extension StateSide {
    static func message(
        _ name: String = "take", to target: ObjectID = .rootDirectory, _ encode: (OutboundMessage) throws -> Void
    ) throws -> OutboundMessage {
        let settings = CoderSettings.of(
            ConnectionLimits(), ClassRegistry(), errorTypes: [], exposesErrorText: false)
        let message = OutboundMessage(settings, owner: PortCoder(settings))
        message.name = name
        message.target = target
        try encode(message)
        try message.finish()
        return message
    }

    static func message(_ number: Int = 1, to target: ObjectID = .rootDirectory) throws -> OutboundMessage {
        try message("take", to: target) { try $0.encode(number) }
    }

    /// Calls the other side.
    func call(_ waiter: Int, _ message: OutboundMessage) throws -> Ticket {
        let ticket = try state.reserve(message, host)
        return try finish(message, state.sendReserved(message, ticket, waiter, host))
    }

    /// Sends a promise, and returns a proxy for it.
    func promise(_ message: OutboundMessage? = nil) throws -> StateProxy {
        let message = try message ?? Self.message()
        let outcome = try state.sendPromise(message, -1, host)
        return StateProxy(.answer(try finish(message, outcome)), host.dead)
    }

    func dropPromises(_ promises: [Ticket]) {
        var dying = DyingReferences()
        for promise in promises { _ = dying.append(.answer(promise)) }
        state.release(dying)
    }

    /// Releases what a written message holds.
    private func finish(_ message: OutboundMessage, _ outcome: SendOutcome<Ticket>) throws -> Ticket {
        collect()
        switch outcome {
        case .written(let ticket):
            message.reset()
            return ticket
        case .waiting(let ticket): return ticket
        case .failed(let error): throw error
        }
    }

    /// A message to a promise.
    static func message(_ name: String = "take", toPromise proxy: StateProxy) throws -> OutboundMessage {
        let message = try message(name) { try $0.encode(1) }
        if case .answer(let ticket) = proxy.target { message.send(to: ticket, through: proxy) }
        return message
    }

    @discardableResult
    func call(_ waiter: Int, to target: ObjectID = .rootDirectory) throws -> Ticket {
        try call(waiter, Self.message(to: target))
    }

    /// Sends a one-way message if there is room.
    func offer(to target: ObjectID = .rootDirectory) throws -> Bool {
        let message = try Self.message(to: target)
        messages.append(message)
        let outcome = state.offerOneWay(message, host, reportsLosses: false)
        collect()
        switch outcome {
        case .written: return true
        case .waiting: return false
        case .failed(let error): throw error
        }
    }

    func checkReserved(_ ticket: Ticket) throws {
        func check(_ state: inout Conversation<StateHost>) throws {
            try state.questions.checkReserved(ticket, &state.session)
        }
        try check(&state)
    }

    func beginClosing() {
        _ = transition { state, actions in state.beginClosing(because: .closedHere, &actions) }
    }

    func sayGoodbyeIfIdle() -> Bool { transition { state, _ in state.sayGoodbyeIfIdle() } }
}
