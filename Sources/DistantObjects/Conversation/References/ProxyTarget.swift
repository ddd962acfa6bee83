/// The target of a proxy.
enum ProxyTarget {
    /// An object of the peer.
    case object(ObjectID)
    /// The answer to a call of this side, which may not be known yet.
    case answer(Ticket)
}
