import KeyedArchive

/// Message names and class shapes that were sent once and are named by number from then on.
///
/// Numbers are given in the order of commit by the sender and of entering by the receiver, so both count alike. When
/// 4,096 are in use, or the definitions of shapes come to 4 MiB, further ones are written out each time.
struct OutboundInterning<Key: Hashable> {
    static var limit: Int { 4_096 }
    static var byteLimit: Int { 4 << 20 }

    private var numbers = SmallDictionary<Key, UInt32>()
    private var lastKey: Key?
    private var lastNumber: UInt32 = 0
    private var bytes = 0

    enum Reference {
        case known(UInt32)
        case new
        case inline
    }

    /// The number of a key; a new one is given its number if there is room for the bytes of its definition.
    mutating func reference(to key: Key, taking size: @autoclosure () -> Int = 0) -> Reference {
        // Most calls repeat the last name: a comparison costs less than a hash.
        if key == lastKey { return .known(lastNumber) }
        if let number = numbers[key] {
            lastKey = key
            lastNumber = number
            return .known(number)
        }
        let size = size()
        guard numbers.count < Self.limit, bytes + size <= Self.byteLimit else { return .inline }
        bytes += size
        lastKey = key
        lastNumber = UInt32(numbers.count)
        numbers.insert(lastNumber, for: key)
        return .new
    }
}

/// What the numbers of the peer's names or shapes stand for.
struct InboundInterning<Value> {
    fileprivate var values: [Value] = []
    private var bytes = 0

    mutating func append(_ value: Value, taking size: Int = 0) throws(ProtocolViolation) {
        bytes += size
        guard values.count < OutboundInterning<String>.limit, bytes <= OutboundInterning<String>.byteLimit else {
            throw ProtocolViolation(.overLimit, "more names or shapes are interned than the protocol allows")
        }
        values.append(value)
    }

    subscript(number: UInt64) -> Value {
        get throws(ProtocolViolation) {
            guard number < UInt64(values.count) else {
                throw ProtocolViolation(.unknownName, "a name or shape was never given")
            }
            return values[Int(number)]
        }
    }

    var count: Int { values.count }
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
        let message = table._withUnsafeGuaranteedRef { $0.meaning(of: name) }
        values[index].lastTable = table.toOpaque()
        values[index].lastMessage = message
        return message
    }
}
