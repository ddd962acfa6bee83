import KeyedArchive

/// Lets the calls of an object begin: a test counts, delays or refuses them.
package protocol CallGate: AnyObject, Sendable {
    /// How long a call waits before it begins; nil for not at all.
    func delay(of message: String) -> Duration?
    /// Called when a call begins, before its method.
    ///
    /// - Throws: The answer to the call; its method does not run.
    func begin(_ message: String) throws
}

/// An object in the place of another, whose calls begin through a gate.
package final class GatedObject: Vendable {
    fileprivate let target: any Vendable
    fileprivate let gate: any CallGate
    /// The messages of the other object, as this one answers them.
    let ownMessages: ClassMessages

    /// - Parameter names: The messages that it does not have.
    /// - Throws: `ConnectionError.interfaceMismatch` if the object's class lacks what it has to list.
    package init(_ target: some Vendable, _ gate: any CallGate, without names: Set<String>) throws {
        let table = ClassMessages.of(target).takeUnretainedValue()
        if let mismatch = table.mismatch { throw mismatch }
        self.target = target
        self.gate = gate
        ownMessages = table.changed { names.contains($0.name) ? nil : $0.gated }
    }

    /// Empty, as each object has messages of its own.
    package static var messages: MessageTable<GatedObject> { MessageTable(bodies: []) }
}

extension MessageBody {
    /// The message as a gated object answers it.
    fileprivate var gated: MessageBody {
        switch run {
        case .unlisted, .passedOn: return self
        case .synchronous, .asynchronous:
            return MessageBody(
                self,
                run: .asynchronous { [self] call in
                    guard let object = call.object as? GatedObject else { return }
                    if let delay = object.gate.delay(of: name) { try await call.pause(for: delay) }
                    try object.gate.begin(name)
                    switch run {
                    case .synchronous: try call.run(self, on: object.target)
                    case .asynchronous(let method): try await method(GatedCall(call, object.target))
                    case .unlisted, .passedOn: break
                    }
                })
        }
    }
}

/// A call of the object behind a gate.
private final class GatedCall: AsyncCall {
    private let call: any AsyncCall
    private let target: any Vendable

    var object: AnyObject { target }

    init(_ call: any AsyncCall, _ target: any Vendable) {
        self.call = call
        self.target = target
    }

    func encode<Value>(_ result: Value, _ writer: Unmanaged<AnyValueCoder>) throws { try call.encode(result, writer) }

    func answer(_ write: @Sendable (OutboundMessage) async throws -> Void) async throws { try await call.answer(write) }

    func argument<Value>(_ type: Value.Type, _ reader: Unmanaged<AnyValueCoder>, isLast: Bool) throws -> Value {
        try call.argument(type, reader, isLast: isLast)
    }

    func pause(for duration: Duration) async throws { try await call.pause(for: duration) }

    func run(_ method: MessageBody, on object: AnyObject) throws { try call.run(method, on: object) }
}
