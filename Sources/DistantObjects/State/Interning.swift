import KeyedArchive

/// Message names and class shapes that were sent once and are named by number from then on.
///
/// Numbers are given in the order of commit by the sender and of entering by the receiver, so both count alike. When
/// 4,096 are in use, further ones are written out each time.
struct OutboundInterning<Key: Hashable> {
    static var limit: Int { 4_096 }

    /// In the order of their numbers; only the first few, which are searched one by one.
    private var few: [Key] = []
    private var numbers: [Key: UInt32] = [:]
    private var lastKey: Key?
    private var lastNumber: UInt32 = 0

    /// A dictionary for the names of most connections would be larger than the names.
    private static var fewest: Int { 8 }

    enum Reference {
        case known(UInt32)
        case new
        case inline
    }

    mutating func reference(to key: Key) -> Reference {
        // Most calls repeat the last name: a comparison costs less than a hash.
        if key == lastKey { return .known(lastNumber) }
        if let number = few.firstIndex(of: key).map({ UInt32($0) }) ?? numbers[key] {
            lastKey = key
            lastNumber = number
            return .known(number)
        }
        let count = few.count + numbers.count
        guard count < Self.limit else { return .inline }
        lastKey = key
        lastNumber = UInt32(count)
        if count < Self.fewest { few.append(key) } else { numbers[key] = lastNumber }
        return .new
    }
}

/// What the numbers of the peer's names or shapes stand for.
struct InboundInterning<Value> {
    fileprivate var values: [Value] = []

    mutating func append(_ value: Value) throws(ProtocolViolation) {
        guard values.count < OutboundInterning<String>.limit else {
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
    /// The message that a name means to objects of a class; `nil` if the class does not list it.
    mutating func meaning(_ number: UInt64, in table: ClassMessages) throws(ProtocolViolation) -> MessageBody? {
        guard number < UInt64(values.count) else {
            throw ProtocolViolation(.unknownName, "a message name was never given")
        }
        let index = Int(number)
        let key = ObjectIdentifier(table)
        if values[index].lastTable == key { return values[index].lastMessage }
        let message = table[values[index].name]
        values[index].lastTable = key
        values[index].lastMessage = message
        return message
    }
}
