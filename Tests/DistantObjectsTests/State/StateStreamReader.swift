@testable import DistantObjects

/// A stream of the other side, as a message's table of references holds it.
final class StateStreamReader: Sendable {
    let inbox: StreamInbox

    init(_ inbox: StreamInbox) { self.inbox = inbox }
}
