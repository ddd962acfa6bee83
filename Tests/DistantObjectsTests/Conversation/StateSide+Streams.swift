import KeyedArchive
import Testing

@testable import DistantObjects

/// A stream of the other side, as a message's table of references holds it.
final class StateStreamReader: Sendable {
    let inbox: StreamInbox
    let dead: DeadProxies

    init(_ inbox: StreamInbox, _ dead: DeadProxies) {
        self.inbox = inbox
        self.dead = dead
    }

    deinit { if !inbox.isOver { dead.streams.append(inbox) } }
}

/// A stream value without elements.
struct StateStream: _ExternallyCodable {
    let object: AnyObject

    init(_ object: AnyObject) { self.object = object }

    func _external(for owner: AnyObject?) throws -> _ExternalValue { .object(object) }
    static func _value(ofExternal object: AnyObject, owner: AnyObject?) throws -> StateStream { StateStream(object) }
    func encode(to encoder: any Encoder) throws {}
    init(from decoder: any Decoder) throws { throw CancellationError() }
}

extension StateSide {
    func perform(_ action: StreamAction) {
        switch action {
        case .resume(.task(let continuation)): continuation.resume()
        case .resume(.thread): break
        case .start(let stream):
            started.append(stream)
            done.append("start \(stream.number)")
        case .cancel(let stream): done.append("cancel stream \(stream.number)")
        case .flush(let stream): done.append("room \(stream.number)")
        case .dispose: done.append("dispose")
        }
    }

    /// Stops reading the streams whose readers were freed.
    ///
    /// - Returns: Whether there were any.
    func stopDeadStreams() -> Bool {
        let dead = host.dead.streams
        host.dead.streams = []
        for inbox in dead { stop(inbox) }
        return !dead.isEmpty
    }

    /// A message with streams as arguments.
    static func message(streams: [AnyObject]) throws -> OutboundMessage {
        try message("take") { message in
            for stream in streams { try message.encode(StateStream(stream)) }
        }
    }

    /// Calls the other side with streams as arguments.
    func call(_ waiter: Int, streams: AnyObject...) throws { _ = try call(waiter, Self.message(streams: streams)) }

    /// The last stream that came with a call.
    func takeStream() throws -> StreamInbox {
        _ = try #require(start())
        return try #require(references.last as? StateStreamReader).inbox
    }

    func begin(_ inbox: StreamInbox, readAhead: Int? = nil) -> Bool {
        transition { state, _ in state.session.streams.begin(inbox, ReadAhead(readAhead), &state.session.outbox) }
    }

    func send(_ items: Int, of stream: StreamOutbox, bytes: Int = 1) throws -> ItemsOutcome {
        let text = String(repeating: "x", count: bytes)
        let message = try Self.message("") { message in for _ in 0..<items { try message.encode(text) } }
        messages.append(message)
        return transition { state, _ in state.writeItems(items, in: message, of: stream, host) }
    }

    func end(_ stream: StreamOutbox) throws {
        let message = try Self.message("") { _ in }
        messages.append(message)
        transition { state, actions in state.endStream(stream, .result, with: message, host, &actions) }
    }

    /// Notifies streams that wait for room, if there is some.
    func resumeStreams() {
        guard !host.isQueueFull else { return }
        transition { state, actions in state.session.streams.resumeAwaitingRoom(&actions) }
    }

    func stop(_ inbox: StreamInbox) {
        transition { state, actions in
            state.session.streams.stopReading(inbox, CancellationError(), &state.session.outbox, &actions)
        }
    }

    func next(_ inbox: StreamInbox, after items: StreamItems? = nil, at now: UInt64 = 0) -> StreamInbox.Next {
        transition { state, actions in
            state.session.streams.next(of: inbox, after: items, at: now, &state.session.outbox, &actions)
        }
    }
}

extension StreamInbox.Next {
    var items: StreamItems? { if case .items(let items) = self { items } else { nil } }
    var isEnd: Bool { if case .end = self { true } else { false } }
    var isNothing: Bool { if case .nothing = self { true } else { false } }
}

extension ItemsOutcome {
    var allowance: Int? { if case .written(let allowance) = self { allowance } else { nil } }
    var isNoRoom: Bool { if case .noRoom = self { true } else { false } }
    var isStopped: Bool { if case .stopped = self { true } else { false } }
}
