import PortTransport

/// The attempts to send one message to an object that may be replaced meanwhile.
private struct Attempts {
    let source: any PlaceSource
    /// In nanoseconds of the source's clock.
    private let deadline: UInt64?
    private var mayRunTwice: Bool
    /// The error of an attempt that may have run.
    private var unknown: ConnectionError?
    private var first: ConnectionError?

    init(_ source: any PlaceSource, within limit: Duration?, mayRunTwice: Bool) {
        self.source = source
        self.mayRunTwice = mayRunTwice
        var limit = limit
        if let left = CallContext.inherited?.timeLeft { limit = limit.map { min($0, left) } ?? left }
        deadline = limit.map { limit in
            let (sum, isFar) = source.loop.now.addingReportingOverflow(limit.nanoseconds)
            return isFar ? .max : sum
        }
    }

    /// The time left for the message; nil if it has no limit.
    var timeLeft: Duration? {
        deadline.map { deadline in
            let now = source.loop.now
            return deadline > now ? .nanoseconds(Int64(clamping: deadline - now)) : .zero
        }
    }

    /// Decides whether a message goes to the next object: if it has not run because the connection of this one has ended, and
    /// once if it may run twice.
    ///
    /// - Throws: The error of the message, if it is not sent again.
    mutating func failed(_ error: any Error, at place: MessagePlace) throws {
        guard let known = error as? ConnectionError, place.heldConnection?.isEnded ?? false else { throw final(error) }
        switch known.code {
        case .notSent, .notDelivered, .closed: break
        case .outcomeUnknown where mayRunTwice:
            mayRunTwice = false
            unknown = known
        default: throw final(error)
        }
        if first == nil { first = known }
    }

    /// The error of the message when an attempt has failed, or when there is no further object.
    ///
    /// An attempt says nothing of an earlier one that may have run.
    func final(_ error: any Error) -> any Error {
        guard let known = error as? ConnectionError else { return error }
        if let unknown, known.isSafeToRetry { return unknown }
        if let first, known.code == .streamUsed { return first }
        return error
    }
}

// Messages to an object that may be replaced. Each attempt encodes its arguments anew, because that belongs to a connection.
extension MessagePlace {
    /// Sends a message to the object of now, and to the next one if this one is gone before it was sent.
    ///
    /// - Parameters:
    ///   - timeout: How long the message may take, with the wait for an object; nil for no limit.
    ///   - mayRunTwice: Whether it is sent once more if it may have run.
    ///   - send: Sends it to a place, within the time that is left.
    /// - Returns: What `send` returns.
    /// - Throws: What `send` throws; why there is no object.
    @usableFromInline
    func following<Result>(
        _ timeout: Duration?, mayRunTwice: Bool = false, _ send: (MessagePlace, Duration?) async throws -> Result
    ) async throws -> Result {
        var attempts = try Attempts(heldSource(), within: timeout, mayRunTwice: mayRunTwice)
        while true {
            let taken: TakenPlace
            do { taken = try await attempts.source.take(within: attempts.timeLeft) } catch {
                throw attempts.final(error)
            }
            defer { taken.giveBack() }
            do { return try await send(taken.place, attempts.timeLeft) } catch {
                try attempts.failed(error, at: taken.place)
            }
        }
    }

    /// As `following`, on a plain thread.
    ///
    /// - Parameters:
    ///   - timeout: As there.
    ///   - mayRunTwice: As there.
    ///   - send: As there.
    /// - Returns: What `send` returns.
    /// - Throws: As there; `ConnectionError.wouldBlock`.
    @usableFromInline
    func followingBlocking<Result>(
        _ timeout: Duration?, mayRunTwice: Bool = false, _ send: (MessagePlace, Duration?) throws -> Result
    ) throws -> Result {
        var attempts = try Attempts(heldSource(), within: timeout, mayRunTwice: mayRunTwice)
        while true {
            let taken: TakenPlace
            do { taken = try attempts.source.takeBlocking(within: attempts.timeLeft) } catch {
                throw attempts.final(error)
            }
            defer { taken.giveBack() }
            do { return try send(taken.place, attempts.timeLeft) } catch {
                try attempts.failed(error, at: taken.place)
            }
        }
    }

    /// Offers a message to the object of now.
    ///
    /// - Returns: False if there is no object now, or it has no room.
    /// - Throws: What `send` throws; why there will be no object.
    @usableFromInline
    func followingNow(_ send: (MessagePlace) throws -> Bool) throws -> Bool {
        let source = try heldSource()
        guard let taken = try source.takeNow() else { return false }
        defer { taken.giveBack() }
        do { return try send(taken.place) } catch let error as ConnectionError
            where error.isSafeToRetry && taken.place.heldConnection?.isEnded ?? false
        {
            return false
        }
    }

    /// The promise of a message to the object of now.
    ///
    /// If there is none now, the promise has failed: its message would have to be encoded later, when its arguments may have changed.
    @usableFromInline
    func followingPromise(_ send: (MessagePlace) -> DistantObject) -> DistantObject {
        do {
            let source = try heldSource()
            guard let taken = try source.takeNow() else {
                throw ConnectionError(
                    .notSent, "the helper does not run now; send the message to what `Helper.running()` returns",
                    context: source.name)
            }
            defer { taken.giveBack() }
            return send(taken.place)
        } catch {
            return DistantObject(promised: .failed(error))
        }
    }

    private func heldSource() throws -> any PlaceSource {
        guard let source else { throw missing }
        return source
    }
}
