import KeyedArchive

/// The names, shapes or classes to which the peer has given numbers.
struct InboundInterning<Value>: ~Copyable {
    var values = CompactArray<Value>()
    private var bytes = 0

    mutating func append(_ value: Value, taking size: Int = 0) throws(ProtocolViolation) {
        bytes += size
        guard values.count < OutboundInterning<String>.limit, bytes <= OutboundInterning<String>.byteLimit else {
            throw ProtocolViolation(.overLimit, "more names, shapes or classes are interned than the protocol allows")
        }
        values.append(value)
    }

    subscript(number: UInt64) -> Value {
        get throws(ProtocolViolation) {
            guard number < UInt64(values.count) else {
                throw ProtocolViolation(.unknownName, "a name, shape or class was never given")
            }
            return values[Int(number)]
        }
    }

    var count: Int { values.count }
}
