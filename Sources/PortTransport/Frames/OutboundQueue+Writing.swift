package import CPortShims

extension OutboundQueue {
    /// Whether a large message may go on now.
    @inline(__always)
    var bulkMayGo: Bool { bulks.count > 0 && firstBulkMayGo }

    var firstBulkMayGo: Bool {
        if unit != nil || bulks[0].isStarted { return true }
        return outstanding == 0 || outstanding + UInt64(bulks[0].total) <= window
    }

    /// Whether anything can be written without more credit.
    @inline(__always)
    package var canWrite: Bool { filling.count + draining.count > 0 || bulkMayGo }

    /// Whether there is nothing to write but whole frames without descriptors.
    @inline(__always)
    var hasOnlyFrames: Bool { bulks.count == 0 && descriptors.count == 0 && boundary == nil }

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

    /// The next write, where `hasOnlyFrames`, as one piece; `advanceOnlyLane` accounts for it.
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

    mutating func headerMemory() -> UnsafeMutableRawPointer {
        if let headers { return headers }
        let made = UnsafeMutableRawPointer.allocate(
            byteCount: Self.maximumUnits * FrameHeader.continuationSize, alignment: 8)
        headers = made
        return made
    }

    mutating func planUnit(
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
    func planLane(_ vectors: UnsafeMutablePointer<iovec>, _ plan: inout Plan) -> Bool {
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
    mutating func abortDelayed() {
        let numbers = delayedAborts
        delayedAborts = []
        for number in numbers { abort(number) }
    }

    mutating func advanceLane(_ count: Int) {
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
    mutating func answersWritten(inLane count: Int) {
        laneAnswers &-= count
        writtenAnswers &+= UInt64(count)
    }

    mutating func advanceUnit(_ left: inout Int) {
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
