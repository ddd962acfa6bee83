import PortTransport

/// An object of this process that the peer may name, and the mailbox of the messages to it.
///
/// Everything mutable is read and written under the connection's lock.
final class Export: @unchecked Sendable {
    let id: ObjectID
    let object: AnyObject
    let messages: Unmanaged<ClassMessages>
    /// The number of the last opener that mentions it.
    ///
    /// A release that was sent before that one arrived is ignored.
    var lastMention: UInt64
    let mailbox: Mailbox

    init(id: ObjectID, object: AnyObject, messages: Unmanaged<ClassMessages>, lastMention: UInt64, mailbox: Mailbox) {
        self.id = id
        self.object = object
        self.messages = messages
        self.lastMention = lastMention
        self.mailbox = mailbox
    }

    /// Whether nothing else refers to the object, so that its `deinit` runs when this export goes.
    var holdsObjectAlone: Bool {
        let object = ObjectAddress(object)
        return object.isHeldOnce
    }

    /// Whether a message may start at once; from then on the object is busy with it.
    func begin() -> Bool {
        guard mailbox.isIdle else { return false }
        mailbox.isBusy = true
        return true
    }
}
