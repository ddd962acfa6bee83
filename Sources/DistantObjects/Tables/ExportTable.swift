/// The objects of this process that the peer may name: slots, each with a generation.
struct ExportTable {
    private struct Slot {
        var export: Export?
        var generation: UInt32
    }

    private var slots: [Slot] = []
    private var free: [UInt32] = []
    private var byObject = SmallDictionary<ObjectIdentifier, Export>()
    /// Mailboxes of released objects that are not idle.
    ///
    /// Their messages hold the objects, so the keys stay valid.
    private var lingering = SmallDictionary<ObjectIdentifier, Mailbox>()

    /// How many objects are exported now, the root directory included.
    private(set) var count = 0

    /// The id of an object, found or given now, mentioned by the opener with that number.
    ///
    /// Called only while the message is written: an id picked earlier could name another object by then.
    mutating func mention(_ object: AnyObject, messages: @autoclosure () -> Unmanaged<ClassMessages>, number: UInt64)
        -> ObjectID
    {
        let key = ObjectIdentifier(object)
        if let known = byObject[key] {
            known.lastMention = number
            return known.id
        }
        let index: UInt32
        if let reused = free.popLast() {
            index = reused
        } else {
            index = UInt32(slots.count)
            slots.append(Slot(export: nil, generation: 0))
        }
        let id = ObjectID(slot: index, generation: slots[Int(index)].generation)
        let mailbox = lingering.isEmpty ? nil : lingering.removeValue(forKey: key)
        mailbox?.isLingering = false
        let export = Export(
            id: id, object: object, messages: messages(), lastMention: number, mailbox: mailbox ?? Mailbox())
        slots[Int(index)].export = export
        byObject.insert(export, for: key)
        count += 1
        return id
    }

    /// Whether naming the object in a message takes no slot, as it has one.
    func contains(_ object: AnyObject) -> Bool { byObject[ObjectIdentifier(object)] != nil }

    /// The object a peer's message names.
    func resolve(_ id: ObjectID) throws(ProtocolViolation) -> Export {
        guard Int(id.slot) < slots.count else {
            throw ProtocolViolation(.unknownName, "an object was named that this connection was never given")
        }
        let index = Int(id.slot)
        guard slots[index].generation == id.generation, let export = slots[index].export else {
            throw ProtocolViolation(.outOfStep, "an object was named by an id that has been released")
        }
        return export
    }

    /// Frees an object, unless a message that the peer had not entered mentions it.
    ///
    /// - Returns: What was freed. The caller releases it outside the lock.
    mutating func release(_ id: ObjectID, entered: UInt64) throws(ProtocolViolation) -> Export? {
        let export = try resolve(id)
        guard export.lastMention <= entered else { return nil }
        guard id != .rootDirectory else {
            throw ProtocolViolation(.outOfStep, "the root directory cannot be released")
        }
        slots[Int(id.slot)].export = nil
        let key = ObjectIdentifier(export.object)
        byObject.removeValue(forKey: key)
        if !export.mailbox.isIdle {
            export.mailbox.isLingering = true
            lingering.insert(export.mailbox, for: key)
        }
        count -= 1
        // A slot whose generation would start again at 0 is never used again.
        if id.generation < .max {
            slots[Int(id.slot)].generation = id.generation + 1
            free.append(id.slot)
        }
        return export
    }

    /// The last message to an object that was released has been handled.
    mutating func forget(_ export: Export) {
        export.mailbox.isLingering = false
        lingering.removeValue(forKey: ObjectIdentifier(export.object))
    }

    /// All exports, for the statistics and the end.
    var all: [Export] { slots.compactMap(\.export) }

    /// - Returns: All exports, and the calls that still wait in a mailbox.
    mutating func removeAll() -> (exports: [Export], calls: [InboundCall]) {
        let exports = all
        // A mailbox and the calls in it hold each other.
        let calls =
            exports.flatMap { $0.mailbox.waiting.removeAll() } + lingering.values.flatMap { $0.waiting.removeAll() }
        lingering.removeAll()
        slots = []
        free = []
        byObject.removeAll()
        count = 0
        return (exports, calls)
    }
}
