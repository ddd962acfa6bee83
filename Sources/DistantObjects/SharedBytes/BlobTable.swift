import PortTransport

/// The regions for blobs of a connection, in both directions.
///
/// Read and written under the connection's lock.
final class BlobTable {
    let returns: BlobReturns

    /// Smaller blobs are not worth a region.
    static let smallest = ProtocolLimits.largeContent
    /// The most bytes of the regions of one direction.
    private let mostBytes: Int
    /// The most bytes that a side takes in one direction: the offer of a region may overtake the release of another.
    private var mostTakenBytes: Int { 2 * mostBytes }
    /// The most regions of one direction.
    static let mostRegions = 64
    /// The most offers that are not answered.
    static let mostOffers = 16
    /// The time for which nothing is offered to a peer that did not take a region, in nanoseconds.
    private static let pause: UInt64 = 10_000_000_000

    // MARK: This side's

    private(set) var made: [UInt64: MadeRegion] = [:]
    /// The bytes of this side's regions, including those that are being made.
    private var madeBytes = 0
    /// The number of regions that are being made.
    private var reserved = 0
    private var offers: UInt64 = 0
    private var answers: UInt64 = 0
    /// Nothing of so many bytes or more is offered before this time.
    private var pausedUntil: UInt64 = 0
    private var pausedSize = Int.max
    /// Whether a timer runs that will check for idle regions.
    var isWatched = false

    // MARK: The peer's

    private(set) var taken: [UInt64: TakenRegion] = [:]
    private var takenBytes = 0
    private var peersOffers: UInt64 = 0
    /// The numbers of the frames with the last answers to offers of the peer.
    private var lastAnswers: [UInt64] = []
    /// The number of mentions that are not given back.
    private(set) var mentions = 0

    init(_ returns: BlobReturns, most: Int) {
        self.returns = returns
        mostBytes = most
    }

    /// The number of mentions of the peer's regions, and of blobs in this side's regions, that messages and this process
    /// hold.
    var held: Int { made.values.reduce(mentions) { $0 + $1.handles } }

    /// The regions that hold something.
    var usedCount: Int {
        made.values.count { !$0.isFree } + taken.values.count { $0.mentions > 0 }
    }

    // MARK: Making

    /// The size of a region for so many bytes; nil if there is none.
    static func size(for count: Int, atMost most: Int) -> Int? {
        guard count >= smallest, count <= most else { return nil }
        let grain = count < 4 << 20 ? RegionMemory.grain : 1 << 20
        let size = (count + grain - 1) / grain * grain
        return size <= most ? size : nil
    }

    /// Counts blobs that nothing in this process holds any more.
    func settleHandles() {
        for (number, count) in returns.takeHandles() { made[number]?.handles -= count }
    }

    /// The free region that fits best.
    func free(for count: Int) -> MadeRegion? {
        var best: MadeRegion?
        // A small blob does not take the memory of a large one, which may be wanted meanwhile.
        for region in made.values where region.isFree && region.size >= count && region.size / 4 <= count {
            if best.map({ region.size < $0.size }) ?? true { best = region }
        }
        return best
    }

    /// Whether another region may be offered.
    func mayOffer(_ size: Int, at now: UInt64) -> Bool {
        offers - answers + UInt64(reserved) < UInt64(Self.mostOffers) && (now >= pausedUntil || size < pausedSize)
    }

    /// Whether the peer has yet to answer an offer.
    var hasUnanswered: Bool { offers - answers + UInt64(reserved) > 0 }

    func hasRoom(for size: Int) -> Bool {
        madeBytes + size <= mostBytes && made.count + reserved < Self.mostRegions
    }

    /// Whether there would be room if all that is free were released.
    func mayHaveRoom(for size: Int) -> Bool {
        let free = made.values.filter { $0.isFree && $0.isTaken }
        return madeBytes - free.reduce(0) { $0 + $1.size } + size <= mostBytes
            && made.count - free.count + reserved < Self.mostRegions
    }

    /// Counts a region that is about to be made.
    func reserve(_ size: Int) {
        madeBytes += size
        reserved += 1
    }

    /// The region was not made.
    func giveUp(_ size: Int) {
        madeBytes -= size
        reserved -= 1
    }

    /// Enters a region that was reserved, and is offered now.
    func offer(_ memory: RegionMemory) -> MadeRegion {
        let region = MadeRegion(offers, memory)
        offers += 1
        reserved -= 1
        made[region.number] = region
        return region
    }

    /// A region that may be released to make room for another.
    var idle: MadeRegion? { made.values.first { $0.isFree && $0.isTaken } }

    func remove(_ region: MadeRegion) {
        guard made.removeValue(forKey: region.number) != nil else { return }
        madeBytes -= region.size
    }

    /// Enters the peer's answer to an offer.
    ///
    /// - Returns: The region.
    func answered(_ number: UInt64) throws(ProtocolViolation) -> MadeRegion? {
        guard number == answers, number < offers else {
            throw ProtocolViolation(.outOfStep, "a region was answered that is not the next one offered")
        }
        answers += 1
        return made[number]
    }

    /// Offers nothing of that size for a while.
    func pauseOffers(from size: Int, at now: UInt64) {
        pausedSize = now < pausedUntil ? min(pausedSize, size) : size
        pausedUntil = now &+ Self.pause
    }

    /// A region of this side that the peer can know.
    func region(_ number: UInt64) throws(ProtocolViolation) -> MadeRegion {
        guard let region = made[number], region.isTaken else {
            throw ProtocolViolation(.unknownName, "a region was named that does not exist")
        }
        return region
    }

    /// Enters mentions that the peer gives back.
    func givenBack(_ number: UInt64, _ count: UInt64) throws(ProtocolViolation) {
        let region = try region(number)
        guard count > 0, count <= region.mentions else {
            throw ProtocolViolation(.outOfStep, "more of a region is given back than was mentioned")
        }
        region.mentions -= count
        region.wasUsed = true
    }

    /// Removes the regions that were not used since the last look.
    func removeIdle() -> [MadeRegion] {
        settleHandles()
        let free = made.values.filter { $0.isFree && $0.isTaken }
        let idle = free.filter { !$0.wasUsed }
        for region in free { region.wasUsed = false }
        for region in idle { remove(region) }
        return idle
    }

    /// Whether there are regions that may become idle.
    var hasFree: Bool { made.values.contains { $0.isFree && $0.isTaken } }

    // MARK: Taking

    /// Enters an offer of the peer.
    ///
    /// - Parameter mayBeRead: Whether the peer may have read a frame.
    /// - Returns: The most bytes that a region may have to be taken.
    func offered(mayBeRead: (UInt64) -> Bool) throws(ProtocolViolation) -> Int {
        if lastAnswers.count == Self.mostOffers {
            guard mayBeRead(lastAnswers.removeFirst()) else {
                throw ProtocolViolation(
                    .overLimit, "more than \(Self.mostOffers) regions were offered without an answer")
            }
        }
        return taken.count < Self.mostRegions ? mostTakenBytes - takenBytes : 0
    }

    /// Answers it.
    ///
    /// - Parameter frame: The number of the frame that says so.
    /// - Returns: The number of the offer.
    func answer(_ memory: RegionMemory?, in frame: UInt64) -> UInt64 {
        let number = peersOffers
        peersOffers += 1
        lastAnswers.append(frame)
        if let memory {
            taken[number] = TakenRegion(number, memory)
            takenBytes += memory.bytes.count
        }
        return number
    }

    /// Enters a mention of a region of the peer.
    func mention(_ number: UInt64, _ offset: UInt64, _ length: UInt64) throws(ProtocolViolation) -> SharedBytes {
        guard let region = taken[number] else {
            throw ProtocolViolation(.unknownName, "a message mentions a region that was not taken")
        }
        let range = try Self.range(offset, length, in: region.size)
        mentions += 1
        return SharedBytes(.taken(TakenBlob(region, returns)), range)
    }

    /// Enters a mention of a region of this side, which the peer sends back.
    func mentionBack(_ number: UInt64, _ offset: UInt64, _ length: UInt64) throws(ProtocolViolation) -> SharedBytes {
        let region = try region(number)
        guard region.mentions > 0 else {
            throw ProtocolViolation(.unknownName, "a message sends a region back that was given back")
        }
        let range = try Self.range(offset, length, in: region.size)
        return SharedBytes(.made(MadeBlob(region, returns)), range)
    }

    private static func range(
        _ offset: UInt64, _ length: UInt64, in size: Int
    ) throws(ProtocolViolation) -> Range<Int> {
        guard length > 0, length <= UInt64(size), offset <= UInt64(size) - length else {
            throw ProtocolViolation(.malformed, "a message mentions bytes that a region does not have")
        }
        return Int(offset)..<Int(offset + length)
    }

    /// Counts mentions that are given back now.
    ///
    /// - Returns: Those of regions that still exist, which is all of them.
    func giveBack() -> [(number: UInt64, count: UInt64)] {
        returns.takeMentions().compactMap { number, count in
            guard let region = taken[number] else { return nil }
            region.mentions -= count
            mentions -= Int(count)
            return (number, count)
        }
    }

    /// Enters that the peer has released one of its regions.
    func released(_ number: UInt64) throws(ProtocolViolation) -> TakenRegion {
        guard let region = taken[number] else {
            throw ProtocolViolation(.unknownName, "a region was released that was not taken")
        }
        guard region.mentions == 0 else {
            throw ProtocolViolation(.outOfStep, "a region was released before it was given back")
        }
        taken[number] = nil
        takenBytes -= region.size
        return region
    }

    // MARK: The end

    /// Empties the table.
    func removeAll() -> [AnyObject] {
        defer { (made, taken, mentions) = ([:], [:], 0) }
        return Array(made.values) + Array(taken.values)
    }
}
