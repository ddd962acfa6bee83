@_spi(Queues) import PortTransport

/// The objects of this process that the peer may refer to: slots, each with a generation.
struct ExportTable: ~Copyable {
    private struct Slot {
        var export: Export?
        var generation: UInt32 = 0
        /// While the slot is free: the next free slot.
        var nextFree = none

        static var none: UInt32 { .max }
    }

    /// Mailboxes of objects without an id that have messages or are answers.
    ///
    /// The messages and the answers hold the objects, so the keys stay valid.
    private final class Lingering: @unchecked Sendable {  // Guarded by the connection's lock.
        var mailboxes = SmallDictionary<ObjectIdentifier, Mailbox>()
    }

    /// The first slot is for the root directory.
    private var slots = CompactArray<Slot>()
    /// The slot that was freed last.
    private var free = Slot.none
    private var byObject = SmallDictionary<ObjectIdentifier, Export>()
    /// Nil before the first such mailbox.
    private var lingering: Lingering?

    /// The number of objects without an id that have a mailbox.
    var lingeringCount: Int { lingering?.mailboxes.count ?? 0 }

    /// The number of exported objects, without the root directory.
    private(set) var count = 0

    // MARK: The root directory

    /// Whether the root directory is exported.
    var hasRoots: Bool { !slots.isEmpty && slots[0].export != nil }

    /// Exports the root directory, once.
    ///
    /// The peer knows its id from the start.
    mutating func exportRoots(_ roots: AnyObject, messages: Unmanaged<ClassMessages>) {
        let export = Export(
            id: .rootDirectory, object: roots, messages: messages, lastMention: 0, mailbox: Mailbox())
        if slots.isEmpty { slots.append(Slot()) }
        slots[0].export = export
        byObject.insert(export, for: ObjectIdentifier(roots))
    }

    // MARK: Objects

    /// The id of an object, which is exported if it was not.
    ///
    /// The function notes that the opener with that number mentions the object. Call it only while the message is
    /// written: an id that was found earlier could refer to another object by then.
    mutating func mention(_ object: AnyObject, messages: @autoclosure () -> Unmanaged<ClassMessages>, number: UInt64)
        -> ObjectID
    {
        let key = ObjectIdentifier(object)
        if let known = byObject[key] {
            known.lastMention = number
            return known.id
        }
        let index: UInt32
        if free != Slot.none {
            index = free
            free = slots[Int(index)].nextFree
        } else {
            // The first slot stays free for the root directory.
            if slots.isEmpty { slots.append(Slot()) }
            index = UInt32(slots.count)
            slots.append(Slot())
        }
        let id = ObjectID(slot: index, generation: slots[Int(index)].generation)
        let mailbox = lingering?.mailboxes.removeValue(forKey: key)
        mailbox?.isLingering = false
        let export = Export(
            id: id, object: object, messages: messages(), lastMention: number, mailbox: mailbox ?? Mailbox())
        slots[Int(index)].export = export
        byObject.insert(export, for: key)
        count += 1
        return id
    }

    func contains(_ object: AnyObject) -> Bool { byObject[ObjectIdentifier(object)] != nil }

    /// The object with an id, if it is exported.
    @inline(__always)
    subscript(id: ObjectID) -> Export? {
        let index = Int(id.slot)
        guard index < slots.count, slots[index].generation == id.generation else { return nil }
        return slots[index].export
    }

    /// The object that a message of the peer refers to.
    func resolve(_ id: ObjectID) throws(ProtocolViolation) -> Export {
        guard let export = self[id] else {
            guard Int(id.slot) < slots.count else {
                throw ProtocolViolation(.unknownName, "an object was named that this connection was never given")
            }
            throw ProtocolViolation(.outOfStep, "an object was named by an id that has been released")
        }
        return export
    }

    /// Removes an object, unless a message that the peer had not entered mentions it.
    ///
    /// - Returns: The removed export, which the caller releases without the lock.
    mutating func release(_ id: ObjectID, entered: UInt64) throws(ProtocolViolation) -> Export? {
        guard id != .rootDirectory else {
            throw ProtocolViolation(.outOfStep, "the root directory cannot be released")
        }
        let export = try resolve(id)
        guard export.lastMention <= entered else { return nil }
        slots[Int(id.slot)].export = nil
        let key = ObjectIdentifier(export.object)
        byObject.removeValue(forKey: key)
        if export.mailbox.isNeeded {
            export.mailbox.isLingering = true
            madeLingering().mailboxes.insert(export.mailbox, for: key)
        }
        count -= 1
        // A slot is not reused once its generations are used up.
        if id.generation < .max {
            slots[Int(id.slot)].generation = id.generation + 1
            slots[Int(id.slot)].nextFree = free
            free = id.slot
        }
        return export
    }

    /// An object of this side that is an answer, as the target of messages to that answer.
    ///
    /// The object gets no id if it has none. Messages to the answer wait in the same mailbox as those that name the
    /// object by an id.
    mutating func keep(_ object: AnyObject, messages: Unmanaged<ClassMessages>) -> Export {
        let key = ObjectIdentifier(object)
        if let known = byObject[key] {
            known.mailbox.answers += 1
            return known
        }
        let mailbox = lingering?.mailboxes[key] ?? Mailbox()
        if !mailbox.isLingering {
            mailbox.isLingering = true
            madeLingering().mailboxes.insert(mailbox, for: key)
        }
        mailbox.answers += 1
        return Export(id: .none, object: object, messages: messages, lastMention: 0, mailbox: mailbox)
    }

    /// Ends an answer that `keep(_:messages:)` has made a target.
    mutating func unkeep(_ export: Export) {
        export.mailbox.answers -= 1
        if export.mailbox.isLingering, !export.mailbox.isNeeded { forget(export) }
    }

    /// Forgets the mailbox of an object without an id, whose last message has been handled.
    mutating func forget(_ export: Export) {
        export.mailbox.isLingering = false
        lingering?.mailboxes.removeValue(forKey: ObjectIdentifier(export.object))
    }

    private mutating func madeLingering() -> Lingering {
        if let lingering { return lingering }
        let made = Lingering()
        lingering = made
        return made
    }

    var all: [Export] { slots.indices.compactMap { slots[$0].export } }

    /// Calls `body` with each message that waits in a mailbox.
    func forEachWaiting(_ body: (InboundCall) -> Void) {
        for index in slots.indices { slots[index].export?.mailbox.forEachWaiting(body) }
        for mailbox in lingering?.mailboxes.values ?? [] { mailbox.forEachWaiting(body) }
    }

    /// Empties the table.
    ///
    /// - Returns: All exports, and the calls that still wait in mailboxes.
    mutating func removeAll() -> (exports: [Export], calls: [InboundCall]) {
        let exports = all
        // A mailbox and the calls in it hold each other.
        let calls =
            exports.flatMap { $0.mailbox.waiting.removeAll() }
            + (lingering?.mailboxes.values.flatMap { $0.waiting.removeAll() } ?? [])
        lingering = nil
        slots.removeAll()
        free = Slot.none
        byObject.removeAll()
        count = 0
        return (exports, calls)
    }
}
