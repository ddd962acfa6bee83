import KeyedArchive
import PortTransport

extension Connection {
    /// Makes bytes that are read by the peer where they are.
    ///
    /// The closure fills memory that the peer has mapped, if the connection shares memory (`isInSharedMemory`), there are at
    /// least 256 KiB, and both processes have room for it: no more than `Configuration.limits.sharedBytes` of such bytes are
    /// under way in a direction of a connection, with those that one side still holds, and the peer's share of what the
    /// process has for all. Otherwise the bytes are in memory of this process, and are sent as a `Data` is; so are those of the
    /// first blob after a pause, as a rule, since a message never waits until the peer has mapped the memory. The first one also
    /// has the connection share memory, if both sides agree: at once on the side that has opened the connection, and when it
    /// has come over the socket to that side otherwise.
    ///
    /// ```swift
    /// let frame = try connection.withBlob(byteCount: 8_294_400) { memory in camera.copy(into: memory) }
    /// try await viewer.show(frame)
    /// ```
    ///
    /// The memory is used again for a later blob of a similar size once nothing in both processes refers to the bytes, and
    /// goes back to the system when it was idle for one or two seconds. The bytes may be sent any number of times, also over
    /// other connections, which copy them.
    ///
    /// May be called from any thread or task. Making new memory takes as long as to fill it with zeros.
    ///
    /// - Parameters:
    ///   - byteCount: The number of bytes; at most `Configuration.limits.message`.
    ///   - fill: Called once with the memory, which it may use until it returns. It may hold bytes of an earlier blob for the
    ///     same peer; otherwise it is zero. What the closure leaves as it is, the peer gets, too.
    /// - Returns: The bytes, to be sent in messages of this connection.
    /// - Throws: What the closure throws; `ConnectionError.tooLarge` if the number is negative or too large, `.overloaded` if the
    ///   system has too little memory.
    public func withBlob(
        byteCount: Int, _ fill: (UnsafeMutableRawBufferPointer) throws -> Void
    ) throws -> SharedBytes {
        guard byteCount >= 0, byteCount <= settings.conversation.limits.message else {
            throw ConnectionError(
                .tooLarge, "a blob has 0 to \(settings.conversation.limits.message) bytes, not \(byteCount)",
                context: name)
        }
        if let blob = blob(byteCount) {
            try fill(UnsafeMutableRawBufferPointer(rebasing: blob.region.memory.bytes[..<byteCount]))
            return SharedBytes(.made(blob), 0..<byteCount)
        }
        guard let block = MessageBlock.make(count: byteCount) else {
            throw ConnectionError(.overloaded, "there is no memory for \(byteCount) bytes", context: name)
        }
        // It may hold bytes of a message of another process.
        _ = block.bytes.initializeMemory(as: UInt8.self, repeating: 0)
        try fill(block.bytes)
        return SharedBytes(.block(block), 0..<byteCount)
    }

    /// Room for a blob in a region; nil if it has to go into memory of this process.
    ///
    /// - Parameter isCopy: Whether it is for bytes that exist already.
    private func blob(_ count: Int, isCopy: Bool = false) -> MadeBlob? {
        // Most small ones never come to a region.
        guard count >= BlobTable.smallest else { return nil }
        let place = transition { state, actions in state.takeBlob(count, isCopy: isCopy, self, &actions) }
        switch place {
        case .memory: return nil
        case .region(let blob): return blob
        case .fresh(let size):
            guard channel.mayOfferBlobs,
                let (memory, descriptor) = RegionMemory.make(size, for: .blobs, with: PeerIdentity(channel.peer))
            else {
                state.withLock { $0.session.memory.blobWasNotMade(size) }
                return nil
            }
            // Under one lock, because offers are numbered by their order.
            let blob = state.withLock { state in
                channel.offerBlobRegion(descriptor)
                return state.session.memory.offerBlob(memory, self)
            }
            channel.flushBlobOffers()
            return blob
        }
    }

    /// Copies bytes of this process into memory that the peer has mapped.
    ///
    /// - Returns: nil if there is none for them.
    fileprivate func share(_ bytes: SharedBytes) -> SharedBytes? {
        guard let blob = blob(bytes.count, isCopy: true) else { return nil }
        // A region that was just offered serves the next bytes.
        guard state.withLock({ _ in blob.region.isTaken }) else { return nil }
        bytes.withUnsafeBytes { blob.region.memory.bytes.copyMemory(from: $0) }
        return SharedBytes(.made(blob), 0..<bytes.count)
    }

    func makeBlobReturns() -> BlobReturns {
        BlobReturns { [loop, channel] in loop.schedule(.notify, on: channel) }
    }

    package func receive(blobRegion descriptor: CInt?) throws(TransportError) {
        do throws(ProtocolViolation) {
            let (room, largest) = try state.withLock { (state) throws(ProtocolViolation) in
                let mayBeLarge = state.session.handshake.grants.features.contains(.largeBlobs)
                return (try state.blobWasOffered(self), mayBeLarge ? Int.max : RegionMemory.most)
            }
            let memory = try descriptor.flatMap { (descriptor) throws(ProtocolViolation) in
                do throws(TransportError) {
                    return try RegionMemory.take(
                        descriptor, largest: largest, atMost: room, for: .blobs, from: PeerIdentity(channel.peer))
                } catch {
                    throw ProtocolViolation(.malformed, error.message)
                }
            }
            state.withLock { $0.answerBlob(memory) }
        } catch {
            state.withLock { $0.session.fail(error) }
            throw TransportError(.protocolViolation, error.message)
        }
        channel.setNeedsFlush()
    }

    /// Looks after a while whether regions for blobs are idle.
    func watchBlobs() {
        // The timer does not hold the connection, which may be dropped meanwhile.
        _ = loop.addTimer(after: .seconds(1)) { [channel] in
            guard let connection = channel.handler as? Connection else { return }
            connection.transition(onLoop: true) { state, actions in state.releaseIdleBlobs(&actions) }
            connection.channel.setNeedsFlush()
        }
    }
}

extension PortCoder: BlobSender {
    func mayMention(_ bytes: SharedBytes) -> Bool {
        // Without a connection the message is not sent.
        connection?.state.withLock { $0.session.memory.mayMention(bytes) } ?? true
    }

    func share(_ bytes: SharedBytes) -> SharedBytes? { connection?.share(bytes) }
}
