/// A name that the peer has given a number, with the message that it means in the class it was sent to last.
struct InternedName {
    let name: String
    // Nearly every name is sent to objects of one class: only the last one is remembered.
    var lastTable: UnsafeMutableRawPointer?
    var lastMessage: MessageBody?
}

extension InboundInterning where Value == InternedName {
    /// The message that a name means to objects of a class.
    mutating func meaning(_ number: UInt64, in table: Unmanaged<ClassMessages>) throws(ProtocolViolation) -> MessageBody
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
