/// Object numbers by address: a hash table with open addressing.
///
/// The first place looked at follows from the address itself: objects that were allocated one after the other are side by
/// side and do not collide. From there on the hash is the step, so that addresses which begin at the same place, or in a
/// part that is full, go different ways (double hashing; Knuth, The Art of Computer Programming 3, 6.4).
///
/// The caller keeps the objects alive. Emptying the table takes constant time: entries carry their epoch.
struct IdentityTable {
    private struct Slot {
        var address: UInt
        var number: UInt32
        var epoch: UInt32
    }

    private var slots: ZeroedMemory<Slot>
    private var mask: Int
    private var shift: UInt
    private var used = 0
    private var epoch: UInt32 = 1

    private static let smallest = 64

    init() {
        slots = ZeroedMemory(Self.smallest)
        mask = Self.smallest - 1
        shift = UInt(UInt.bitWidth - Self.smallest.trailingZeroBitCount)
    }

    func deallocate() { slots.deallocate() }

    /// Whether it is empty, and small enough for its memory to be kept.
    var isUnused: Bool { used == 0 && mask <= Self.small }

    private static let small = 1024

    mutating func removeAll(most: Int) {
        let isRoomy = mask > Self.small && (used < mask / 16 || mask > most)
        if isRoomy || epoch == .max {
            slots.deallocate()
            self = IdentityTable()
        } else {
            used = 0
            epoch += 1
        }
    }

    /// Where to look for an address first; allocators align objects to 16 bytes.
    @inline(__always)
    private func first(_ address: UInt) -> Int { Int(bitPattern: address >> 4) & mask }

    /// Where to look after `index`; the step is odd, so that it comes to every place.
    @inline(__always)
    private func after(_ index: Int, _ address: UInt) -> Int {
        (index &+ (Int(bitPattern: (address &* 0x9E37_79B9_7F4A_7C15) >> shift) | 1)) & mask
    }

    /// The number of the object at `address`; a new object gets `number`.
    ///
    /// Expected O(1).
    @inline(__always)
    mutating func insert(_ address: UInt, number: UInt32) -> (isNew: Bool, number: UInt32) {
        if used &* 2 > mask { grow(2 * (mask + 1)) }
        var index = first(address)
        while true {
            let slot = slots[index]
            if slot.epoch != epoch {
                slots[index] = Slot(address: address, number: number, epoch: epoch)
                used &+= 1
                return (true, number)
            }
            if slot.address == address {
                if slot.number != Self.withdrawn { return (false, slot.number) }
                slots[index].number = number
                return (true, number)
            }
            index = after(index, address)
        }
    }

    /// The number of an object that is in no archive; its place in the table stays, as others may lie behind it.
    private static let withdrawn = UInt32.max

    /// Forgets the object at `address`.
    mutating func withdraw(_ address: UInt) { update(address, number: Self.withdrawn) }

    func find(_ address: UInt) -> UInt32? {
        var index = first(address)
        while slots[index].epoch == epoch {
            if slots[index].address == address {
                return slots[index].number == Self.withdrawn ? nil : slots[index].number
            }
            index = after(index, address)
        }
        return nil
    }

    /// Sets the number of an address that is in the table.
    mutating func update(_ address: UInt, number: UInt32) {
        var index = first(address)
        while slots[index].epoch == epoch {
            if slots[index].address == address {
                slots[index].number = number
                return
            }
            index = after(index, address)
        }
    }

    /// Makes room for `more` objects, so that the table is not rebuilt several times while it grows.
    mutating func reserve(_ more: Int) {
        var capacity = mask + 1
        while (used + more) * 2 >= capacity { capacity *= 2 }
        if capacity > mask + 1 { grow(capacity) }
    }

    @inline(never)
    private mutating func grow(_ capacity: Int) {
        let old = slots
        let count = mask + 1
        slots = ZeroedMemory(capacity)
        mask = capacity - 1
        shift = UInt(UInt.bitWidth - capacity.trailingZeroBitCount)
        for index in 0..<count where old[index].epoch == epoch {
            let address = old[index].address
            var to = first(address)
            while slots[to].epoch == epoch { to = after(to, address) }
            slots[to] = old[index]
        }
        old.deallocate()
    }
}
