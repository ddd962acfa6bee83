/// Message names, shapes or descriptions of classes that are written out once and then referred to by number.
///
/// The sender numbers them as it writes, and the receiver as it enters, so that both agree. Beyond 4,096 of a kind, or
/// 4 MiB of their definitions, further ones are written out each time.
struct OutboundInterning<Key: Hashable>: ~Copyable {
    static var limit: Int { ProtocolLimits.interned }
    static var byteLimit: Int { ProtocolLimits.internedBytes }

    private var numbers = SmallDictionary<Key, UInt32>()
    private var lastKey: Key?
    private var lastNumber: UInt32 = 0
    private var bytes: UInt32 = 0

    /// The number of a key.
    ///
    /// A new key gets a number, unless the limits are reached.
    /// - Parameter room: The most that the definition of a new key may take.
    mutating func reference(
        to key: Key, taking size: @autoclosure () -> Int = 0, within room: Int = .max
    ) -> Naming {
        // Most calls repeat the last name, and a comparison costs less than a hash.
        if key == lastKey { return .known(lastNumber) }
        if let number = numbers[key] {
            lastKey = key
            lastNumber = number
            return .known(number)
        }
        let size = size()
        guard size <= room, numbers.count < Self.limit, Int(bytes) + size <= Self.byteLimit else { return .inline }
        bytes += UInt32(size)
        lastKey = key
        lastNumber = UInt32(numbers.count)
        numbers.insert(lastNumber, for: key)
        return .new
    }
}
