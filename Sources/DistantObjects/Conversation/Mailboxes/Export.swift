import PortTransport

/// An object of this process to which the peer may send messages, and the mailbox of those messages.
///
/// Its mutable state is read and written under the connection's lock.
final class Export: @unchecked Sendable {
    let id: ObjectID
    let object: AnyObject
    let messages: Unmanaged<ClassMessages>
    /// The number of the last opener that mentions the object.
    ///
    /// An *opener* is any frame that does not continue a message in fragments. It *mentions* an object if the object is
    /// in its table of references. A Release that the peer sent before it entered that opener is ignored.
    var lastMention: UInt64
    let mailbox: Mailbox

    init(id: ObjectID, object: AnyObject, messages: Unmanaged<ClassMessages>, lastMention: UInt64, mailbox: Mailbox) {
        self.id = id
        self.object = object
        self.messages = messages
        self.lastMention = lastMention
        self.mailbox = mailbox
    }

    /// Whether the export holds the last reference to the object, so that releasing it runs the object's `deinit`.
    var holdsObjectAlone: Bool {
        let object = ObjectAddress(object)
        return object.isHeldOnce
    }

    /// Marks the object as busy if it is idle.
    ///
    /// - Returns: Whether a message may start at once.
    func begin() -> Bool {
        guard mailbox.isIdle else { return false }
        mailbox.isBusy = true
        return true
    }
}
