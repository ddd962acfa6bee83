/// What an object of a message's table of references is to one connection.
///
/// Ids, numbers of streams and answers belong to one connection: on another connection they name something else, or
/// nothing.
enum TableEntry {
    /// A proxy for an object or an answer of the peer.
    case proxy(ProxyTarget)
    /// A stream of the peer.
    case stream(StreamInbox)
    /// Something that another connection has received; this connection cannot name it.
    case foreign
    /// Something of this process: an object, a stream, or bytes.
    case own
}

extension ConnectionError {
    /// The error of a message with something that another connection has received.
    static func foreign(_ message: String) -> ConnectionError {
        ConnectionError(
            .foreignReference, "the message has an object, a stream or bytes that came over another connection",
            context: message)
    }
}
