/// A name to which the peer has given a number.
struct InternedName {
    let name: String
    // Most names are sent to objects of one class, so a cache of the last table and message is enough.
    var lastTable: UnsafeMutableRawPointer?
    var lastMessage: MessageBody?
}

extension InboundInterning where Value == InternedName {
    /// The message of a class that has the name with this number.
    mutating func message(_ number: UInt64, in table: Unmanaged<ClassMessages>) throws(ProtocolViolation) -> MessageBody
    {
        guard number < UInt64(values.count) else {
            throw ProtocolViolation(.unknownName, "a message name was never given")
        }
        let index = Int(number)
        if values[index].lastTable == table.toOpaque(), let known = values[index].lastMessage { return known }
        return look(up: index, in: table)
    }

    @inline(never)
    private mutating func look(up index: Int, in table: Unmanaged<ClassMessages>) -> MessageBody {
        let name = values[index].name
        let message = table._withUnsafeGuaranteedRef { $0.message(named: name) }
        values[index].lastTable = table.toOpaque()
        values[index].lastMessage = message
        return message
    }
}
