package import CPortShims

/// What a channel has yet to write: a pure structure, under the channel's queue lock.
///
/// Whole frames, openers and aborts go into the *lane*, bytes in the order they were enqueued. Large messages stand in a
/// queue of their own; their continuations, 64 KiB each, go out only when the lane is empty, so whatever is in the lane
/// passes them. A write is planned (`plan`), done by the caller without the lock, and accounted for (`advance`); between
/// the two, bytes are only added.
package struct OutboundQueue: ~Copyable {
    /// The continuation that is being written.
    struct Unit {
        var payload: Int
        var isLast: Bool
        /// Bytes written of header and payload.
        var written: Int
        var left: Int { FrameHeader.continuationSize + payload - written }
    }

    struct Descriptors {
        /// Where in the lane its frame begins and ends.
        let start: UInt64
        let end: UInt64
        let numbers: [CInt]
        /// The frame may leave without them.
        let areOptional: Bool
    }

    package struct Plan: ~Copyable {
        package var vectors = 0
        package var bytes = 0
        package var descriptors: [CInt] = []
        /// Keeps the memory of the continuations' segments during the write.
        var bulk: OutboundBulk?
        var lane = 0
        var descriptorFrames = 0
    }

    /// Where in the lane a frame ends, and its size if it is counted among the answers.
    private struct FrameEnd {
        let end: UInt64
        let answer: Int
    }

    package static let maximumVectors = 128
    static let maximumUnits = 4
    /// Lane memory kept by an idle channel.
    static let keptCapacity = 128

    var filling = ByteQueue()
    var draining = ByteQueue()
    /// Lane bytes ever enqueued, and ever written.
    var laneEnd: UInt64 = 0
    var laneWritten: UInt64 = 0
    package private(set) var lastNumber: UInt64 = 0
    /// The lane ends of the frames after the `writtenFrames`th.
    private var ends = Ring<FrameEnd>()
    private var writtenFrames: UInt64 = 0
    var bulks = Ring<OutboundBulk>()
    var unit: Unit?
    private var aborted: [UInt64] = []
    var descriptors = Ring<Descriptors>()
    /// The lane end of the last frame whose descriptors have left.
    var descriptorsSent: UInt64 = 0
    /// Where in the lane the channel goes over to another way of writing: no write holds bytes of both sides.
    private(set) var boundary: UInt64?
    private let window: UInt64
    /// Bytes of large messages begun and not yet consumed by the peer.
    package private(set) var outstanding: UInt64 = 0
    package private(set) var queuedBytes = 0
    /// Bytes of answers that are not written, a frame in the lane as long as any of it is left.
    package var unsentAnswers: Int { laneAnswers + bulkAnswers }
    /// Bytes of whole frames that are not answers, and not written.
    @inline(__always)
    package var unsentOwnFrames: Int { Int(truncatingIfNeeded: laneEnd &- laneWritten) - laneAnswers }
    /// Bytes of large messages that are not answers, and not written.
    package private(set) var unsentOwnBulk = 0
    private var laneAnswers = 0
    private var bulkAnswers = 0
    /// Bytes of answers ever written.
    package private(set) var writtenAnswers: UInt64 = 0
    private var isPlanned = false
    private var delayedAborts: [UInt64] = []
    /// Large messages done with, for the owner to free outside its lock: their memory's owner may be a user's object.
    private var spent: [OutboundBulk] = []
    /// Four headers of continuations, for the plan that is being written; made for the first large message.
    private var headers: UnsafeMutableRawPointer?

    package init(window: UInt64) {
        self.window = window
    }

    deinit { headers?.deallocate() }

    package var isEmpty: Bool { queuedBytes == 0 }

    /// The large message that is written or the next to be.
    package var firstBulk: UInt64? { bulks.count > 0 ? bulks[0].number : nil }

    // MARK: Adding

    /// Adds a whole frame and returns its number.
    @inline(__always)
    package mutating func append(
        kind: UInt8, flags: UInt8, prefix: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer?, descriptors: [CInt],
        areOptional: Bool = false, isAnswer: Bool = false
    ) -> UInt64 {
        let length = prefix.count + (body?.count ?? 0)
        let size = FrameHeader.size + length
        let target = filling.extend(size)
        FrameHeader(
            length: UInt32(truncatingIfNeeded: length), kind: kind, flags: flags,
            descriptors: UInt16(truncatingIfNeeded: descriptors.count)
        ).write(to: target)
        if let base = prefix.baseAddress {
            (target + FrameHeader.size).copyMemory(from: base, byteCount: prefix.count)
        }
        if let body, let base = body.baseAddress {
            (target + FrameHeader.size + prefix.count).copyMemory(from: base, byteCount: body.count)
        }
        return numbered(size, descriptors, areOptional, isAnswer: isAnswer)
    }

    /// Adds a large message: its opener and its bulk.
    package mutating func append(
        kind: UInt8, flags: UInt8, prefix: UnsafeRawBufferPointer, segments: [OutboundSegment], descriptors: [CInt],
        isAnswer: Bool = false
    ) -> UInt64 {
        let total = segments.reduce(0) { $0 + $1.bytes.count }
        let length = 8 + prefix.count
        let size = FrameHeader.size + length
        let target = filling.extend(size)
        FrameHeader(
            length: UInt32(truncatingIfNeeded: length), kind: kind, flags: flags | FrameHeader.fragmentedFlag,
            descriptors: UInt16(truncatingIfNeeded: descriptors.count)
        ).write(to: target)
        (target + FrameHeader.size).storeBytes(of: UInt64(total).littleEndian, as: UInt64.self)
        if let base = prefix.baseAddress {
            (target + FrameHeader.size + 8).copyMemory(from: base, byteCount: prefix.count)
        }
        let number = numbered(size, descriptors, isAnswer: isAnswer)
        bulks.append(OutboundBulk(number: number, segments: segments, total: total, isAnswer: isAnswer))
        if isAnswer { bulkAnswers += total } else { unsentOwnBulk += total }
        // An empty one still has its last continuation to write.
        queuedBytes += max(total, 1)
        return number
    }

    @inline(__always)
    private mutating func numbered(
        _ size: Int, _ numbers: [CInt], _ areOptional: Bool = false, isAnswer: Bool
    ) -> UInt64 {
        if !numbers.isEmpty {
            descriptors.append(
                Descriptors(
                    start: laneEnd, end: laneEnd + UInt64(size), numbers: numbers, areOptional: areOptional))
        }
        laneEnd &+= UInt64(size)
        let answer = isAnswer ? size : 0
        laneAnswers &+= answer
        ends.append(FrameEnd(end: laneEnd, answer: answer))
        queuedBytes += size
        lastNumber += 1
        return lastNumber
    }

    /// Gives a large message up, if its last continuation is not yet under way.
    package mutating func abort(_ number: UInt64) {
        if isPlanned {
            // It may be complete by the time the write returns.
            delayedAborts.append(number)
            return
        }
        guard let index = (0..<bulks.count).first(where: { bulks[$0].number == number }) else { return }
        let bulk = bulks[index]
        if index == 0, let unit {
            // A frame once begun is finished; if it is the last there is nothing left to give up.
            if !unit.isLast { bulk.isAborted = true }
            return
        }
        drop(bulk, at: index)
    }

    private mutating func drop(_ bulk: OutboundBulk, at index: Int) {
        if bulk.isStarted { outstanding -= min(outstanding, UInt64(bulk.total)) }
        queuedBytes -= max(bulk.total, 1) - bulk.offset
        let left = bulk.total - bulk.offset
        if bulk.isAnswer { bulkAnswers -= left } else { unsentOwnBulk -= left }
        var kept = Ring<OutboundBulk>()
        while let next = bulks.popFirst() {
            if next !== bulk { kept.append(next) }
        }
        bulks = kept
        spent.append(bulk)
        aborted.append(bulk.number)
        if aborted.count > 1_024 { aborted.removeFirst(512) }
        // Not numbered: continuations have no number of their own.
        let target = filling.extend(FrameHeader.continuationSize)
        FrameHeader(length: 8, kind: FrameHeader.continuationKind, flags: FrameHeader.abortFlag).write(to: target)
        (target + FrameHeader.size).storeBytes(of: bulk.number.littleEndian, as: UInt64.self)
        laneEnd += UInt64(FrameHeader.continuationSize)
        queuedBytes += FrameHeader.continuationSize
    }

    /// The peer has consumed so many bytes of large messages.
    ///
    /// - Returns: Whether so many were outstanding.
    package mutating func credit(_ bytes: UInt64) -> Bool {
        guard bytes <= outstanding else { return false }
        outstanding -= bytes
        return true
    }

    /// Whether every byte of a message has been handed on.
    package func isWritten(_ number: UInt64) -> Bool {
        guard number > 0, number <= writtenFrames else { return false }
        for index in 0..<bulks.count where bulks[index].number == number { return false }
        return !aborted.contains(number)
    }

    /// Whether the peer may have every byte of a message: as `isWritten`, or a write that is under way holds its last one.
    ///
    /// The peer can read what was written, act on it and go before its writer is back from the kernel.
    package func mayBeWritten(_ number: UInt64) -> Bool {
        if isWritten(number) { return true }
        guard isPlanned, number > 0, !aborted.contains(number) else { return false }
        for index in 0..<bulks.count where bulks[index].number == number {
            let left = bulks[index].total - bulks[index].offset
            return index == 0 && bulks[0].isStarted && left <= Self.maximumUnits * OutboundBulk.maximumPayload
        }
        guard number > writtenFrames, number - writtenFrames <= UInt64(ends.count) else { return false }
        return ends[Int(number - writtenFrames) - 1].end <= laneWritten + UInt64(draining.count)
    }

    // MARK: Writing

    /// Whether a large message may go on now.
    @inline(__always)
    var bulkMayGo: Bool { bulks.count > 0 && firstBulkMayGo }

    private var firstBulkMayGo: Bool {
        if unit != nil || bulks[0].isStarted { return true }
        return outstanding == 0 || outstanding + UInt64(bulks[0].total) <= window
    }

    /// Whether anything can be written without more credit.
    @inline(__always)
    package var canWrite: Bool { filling.count + draining.count > 0 || bulkMayGo }

    /// Whether there is nothing to write but whole frames without descriptors.
    @inline(__always)
    var isLaneOnly: Bool { bulks.count == 0 && descriptors.count == 0 && boundary == nil }

    /// Makes the end of the last frame a boundary.
    mutating func setBoundary() { boundary = laneEnd }

    /// Takes the boundary away if all before it is written; true if so.
    mutating func passBoundary() -> Bool {
        guard let reached = boundary, laneWritten == reached else { return false }
        boundary = nil
        return true
    }

    /// Whether nothing is left to write, free or look at.
    @inline(__always)
    var isIdle: Bool { queuedBytes == 0 && spent.isEmpty }

    /// The next write, where `isLaneOnly`, as one piece; `advanceOnlyLane` accounts for it.
    mutating func planOnlyLane() -> UnsafeRawBufferPointer {
        isPlanned = true
        if draining.count == 0 {
            draining.removeAll()
            swap(&draining, &filling)
        }
        return UnsafeRawBufferPointer(start: draining.start, count: draining.count)
    }

    mutating func advanceOnlyLane(_ written: Int) {
        isPlanned = false
        if written > 0 { advanceLane(written) }
        if !delayedAborts.isEmpty { abortDelayed() }
    }

    /// Lays out the next write, of at most `units` continuations, in `vectors`, which has room for `maximumVectors`.
    package mutating func plan(_ vectors: UnsafeMutablePointer<iovec>, units: Int) -> Plan {
        var plan = Plan()
        isPlanned = true
        if draining.count == 0 {
            draining.removeAll()
            swap(&draining, &filling)
        }
        if let unit { planUnit(unit, bulks[0].cursor, slot: 0, vectors, &plan) }
        let laneIsWhole = planLane(vectors, &plan)
        guard laneIsWhole, filling.count == 0, bulkMayGo, boundary == nil else { return plan }
        let bulk = bulks[0]
        if !bulk.isStarted {
            // Before the write, not after it: the peer may give back what was written before the writer gets here again.
            bulk.isStarted = true
            outstanding += UInt64(bulk.total)
        }
        // `advance` cuts by it once more.
        bulk.portion = units > 1 ? OutboundBulk.maximumPayload : OutboundBulk.narrowPayload
        var cursor = bulk.cursor
        var slot = 0
        if let unit {
            // Behind the continuation that is being finished.
            bulk.forEachPiece(&cursor, unit.payload - max(0, unit.written - FrameHeader.continuationSize)) { _ in }
            if unit.isLast || bulk.isAborted { return plan }
            slot = 1
        }
        while slot < min(units, Self.maximumUnits) {
            let payload = bulk.payload(at: cursor)
            let next = Unit(payload: payload, isLast: cursor.offset + payload == bulk.total, written: 0)
            planUnit(next, cursor, slot: slot, vectors, &plan)
            bulk.forEachPiece(&cursor, payload) { _ in }
            slot += 1
            if next.isLast { break }
        }
        return plan
    }

    private mutating func headerMemory() -> UnsafeMutableRawPointer {
        if let headers { return headers }
        let made = UnsafeMutableRawPointer.allocate(
            byteCount: Self.maximumUnits * FrameHeader.continuationSize, alignment: 8)
        headers = made
        return made
    }

    private mutating func planUnit(
        _ unit: Unit, _ start: OutboundBulk.Cursor, slot: Int, _ vectors: UnsafeMutablePointer<iovec>,
        _ plan: inout Plan
    ) {
        let bulk = bulks[0]
        plan.bulk = bulk
        let header = headerMemory() + slot * FrameHeader.continuationSize
        if unit.written < FrameHeader.continuationSize {
            FrameHeader(
                length: UInt32(truncatingIfNeeded: unit.payload + 8), kind: FrameHeader.continuationKind,
                flags: unit.isLast ? FrameHeader.lastFlag : 0
            ).write(to: header)
            (header + FrameHeader.size).storeBytes(of: bulk.number.littleEndian, as: UInt64.self)
            let left = FrameHeader.continuationSize - unit.written
            vectors[plan.vectors] = iovec(iov_base: header + unit.written, iov_len: left)
            plan.vectors += 1
            plan.bytes += left
        }
        var cursor = start
        var count = plan.vectors
        let left = unit.payload - max(0, unit.written - FrameHeader.continuationSize)
        bulk.forEachPiece(&cursor, left) { bytes in
            vectors[count] = iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
            count += 1
        }
        plan.vectors = count
        plan.bytes += left
    }

    /// Adds the lane as far as one message may carry its descriptors; true if that is all that is draining.
    private func planLane(_ vectors: UnsafeMutablePointer<iovec>, _ plan: inout Plan) -> Bool {
        var count = draining.count
        guard count > 0, let start = draining.start else { return true }
        if let boundary { count = min(count, Int(boundary - laneWritten)) }
        if descriptors.count > 0 {
            let end = laneWritten + UInt64(count)
            for index in 0..<descriptors.count where descriptors[index].start < end {
                let next = descriptors[index]
                // More descriptors leave only when the frames of those before are wholly written, so the peer never
                // holds more unclaimed ones than two messages bring.
                let fits = plan.descriptors.count + next.numbers.count <= 253 && descriptorsSent <= laneWritten
                guard fits else {
                    count = Int(next.start - laneWritten)
                    break
                }
                plan.descriptors += next.numbers
                plan.descriptorFrames += 1
            }
        }
        if count > 0 {
            vectors[plan.vectors] = iovec(iov_base: start, iov_len: count)
            plan.vectors += 1
            plan.bytes += count
            plan.lane = count
        }
        return count == draining.count
    }

    /// Accounts for `written` bytes of a plan.
    ///
    /// Returns the descriptors that have left, for the caller to close.
    package mutating func advance(_ plan: consuming Plan, written: Int) -> [CInt] {
        isPlanned = false
        var left = written
        var sent: [CInt] = []
        if written > 0, plan.descriptorFrames > 0 {
            sent = plan.descriptors
            for _ in 0..<plan.descriptorFrames {
                if let frame = descriptors.popFirst() { descriptorsSent = frame.end }
            }
        }
        if unit != nil { advanceUnit(&left) }
        let lane = min(left, plan.lane)
        if lane > 0 { advanceLane(lane) }
        left -= lane
        while left > 0, bulks.count > 0 {
            let bulk = bulks[0]
            let payload = bulk.payload(at: bulk.cursor)
            unit = Unit(payload: payload, isLast: bulk.offset + payload == bulk.total, written: 0)
            advanceUnit(&left)
        }
        if !delayedAborts.isEmpty { abortDelayed() }
        return sent
    }

    /// After a write that failed: has the first `count` frames with descriptors leave without them.
    ///
    /// - Returns: The descriptors, for the caller to close; nil if not all of these frames may do so.
    mutating func withdrawDescriptors(ofFirst count: Int) -> [CInt]? {
        guard !isPlanned, count > 0, (0..<count).allSatisfy({ descriptors[$0].areOptional }) else { return nil }
        var withdrawn: [CInt] = []
        for _ in 0..<count {
            guard let frame = descriptors.popFirst(), let start = draining.start else { break }
            FrameHeader.clearDescriptors(at: start + Int(frame.start - laneWritten))
            withdrawn += frame.numbers
        }
        return withdrawn
    }

    @inline(never)
    private mutating func abortDelayed() {
        let numbers = delayedAborts
        delayedAborts = []
        for number in numbers { abort(number) }
    }

    private mutating func advanceLane(_ count: Int) {
        draining.removeFirst(count)
        laneWritten += UInt64(count)
        queuedBytes -= count
        if laneWritten == laneEnd {
            writtenFrames = lastNumber
            ends.removeAll(keeping: 16)
            if laneAnswers > 0 { answersWritten(inLane: laneAnswers) }
        } else {
            while ends.count > 0, ends[0].end <= laneWritten {
                answersWritten(inLane: ends[0].answer)
                _ = ends.popFirst()
                writtenFrames += 1
            }
        }
        if draining.count == 0 {
            draining.trim(to: Self.keptCapacity)
            // One block goes round, so that an idle channel keeps one and not two.
            if !filling.hasMemory { swap(&draining, &filling) }
        }
    }

    @inline(__always)
    private mutating func answersWritten(inLane count: Int) {
        laneAnswers &-= count
        writtenAnswers &+= UInt64(count)
    }

    private mutating func advanceUnit(_ left: inout Int) {
        guard var unit, bulks.count > 0 else { return }
        let bulk = bulks[0]
        let count = min(left, unit.left)
        let before = max(0, unit.written - FrameHeader.continuationSize)
        unit.written += count
        left -= count
        let payload = max(0, unit.written - FrameHeader.continuationSize) - before
        bulk.advance(payload)
        queuedBytes -= payload
        if bulk.isAnswer {
            bulkAnswers -= payload
            writtenAnswers &+= UInt64(payload)
        } else {
            unsentOwnBulk -= payload
        }
        guard unit.left == 0 else {
            self.unit = unit
            return
        }
        self.unit = nil
        if unit.isLast {
            if bulk.total == 0 { queuedBytes -= 1 }
            if let done = bulks.popFirst() { spent.append(done) }
        } else if bulk.isAborted {
            drop(bulk, at: 0)
        }
    }

    /// Counts a frame that will never be written, because the channel no longer writes.
    package mutating func appendNothing() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    /// Takes what is to be freed outside the owner's lock.
    @inline(__always)
    package mutating func takeSpent() -> [AnyObject] {
        guard !spent.isEmpty else { return [] }
        let taken = spent
        spent = []
        return taken
    }

    /// Empties the queue of a channel that no longer writes; what was written stays known.
    ///
    /// Not during a write. Returns descriptors for the owner to close.
    package mutating func discard() -> [CInt] {
        var numbers: [CInt] = []
        while let bulk = bulks.popFirst() {
            spent.append(bulk)
            aborted.append(bulk.number)
        }
        while let frame = descriptors.popFirst() { numbers += frame.numbers }
        unit = nil
        queuedBytes = 0
        laneAnswers = 0
        bulkAnswers = 0
        unsentOwnBulk = 0
        ends.removeAll(keeping: 0)
        filling.removeAll()
        filling.trim(to: 0)
        draining.removeAll()
        draining.trim(to: 0)
        return numbers
    }
}
