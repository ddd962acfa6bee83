internal import CPortShims
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension Channel {
    /// Has the kernel refuse a peer that sends descriptors, which come only where they are asked for.
    ///
    /// What is not read yet may have come with some. If the kernel cannot, any byte may: then each read takes what
    /// comes beside it, because the kernel closes in the reading thread what is not taken, and a peer decides how long
    /// that takes.
    ///
    /// Called with the read lock held, or before the channel is used.
    func refuseDescriptors() {
        guard let socket = link.inputSocket else { return }
        if !asksKernel {
            reading.foreignBytes = .max
            passDescriptors()
        } else if port_pass_descriptors(socket, false) >= 0 {
            let unread = port_unread(socket)
            reading.foreignBytes = unread < 0 ? .max : Int(unread)
        } else if errno != EOPNOTSUPP {
            reading.foreignBytes = .max
        }
    }

    /// Has the kernel let descriptors through.
    func passDescriptors() {
        guard let socket = link.inputSocket else { return }
        _ = port_pass_descriptors(socket, true)
    }

    func takeAncillary(
        _ ancillary: UnsafeMutablePointer<port_ancillary>, _ received: Int
    ) throws(TransportError) {
        let foreign = reading.foreignBytes
        if foreign > 0, foreign < .max { reading.foreignBytes = max(0, foreign - received) }
        if ancillary.pointee.truncated {
            // No descriptor was free for those of shared memory: the connection can do without it.
            guard reading.arrival.lose() else {
                throw TransportError(.protocolViolation, "descriptors were lost: too many came at once")
            }
            Self.closeForeign(reading.takeDescriptors())
        }
        if ancillary.pointee.count > 0 {
            for number in ancillary.pointee.numbers { reading.descriptors.append(number) }
            // Two messages' worth: see `OutboundQueue.planLane`.
            let bound =
                acceptsDescriptors
                ? 2 * Self.maximumDescriptors
                : reading.arrival != .notExpected ? SharedMemoryTransport.descriptorCount : 0
            guard reading.descriptors.count <= bound else {
                throw TransportError(.protocolViolation, "descriptors came that no frame claims")
            }
        }
        if ancillary.pointee.has_credentials, reading.wantsCredentials {
            reading.wantsCredentials = false
            let peer = PeerCredentials(ancillary.pointee.credentials)
            _ = port_pass_credentials(link.inputDescriptor, false)
            gate.withLock { held in
                gated.peer = peer
                gated.readsWhole = !acceptsDescriptors
                if gated.inputInterest & UInt32(PORT_READABLE) != 0 { setReadInterest(true, held) }
            }
        }
    }

    func claim(_ count: UInt16, _ number: UInt64) throws(TransportError) -> [CInt] {
        if reading.arrival == .lost { return [] }
        guard reading.descriptors.count >= count else {
            throw TransportError(
                .protocolViolation, "a frame announces \(count) descriptors that did not come with it",
                context: ["frame \(number)"])
        }
        var claimed: [CInt] = []
        claimed.reserveCapacity(Int(count))
        for _ in 0..<count {
            if let descriptor = reading.descriptors.popFirst() { claimed.append(descriptor) }
        }
        return claimed
    }
}

extension port_ancillary {
    /// The descriptors that came.
    var numbers: [CInt] {
        withUnsafeBytes(of: descriptors) { Array($0.bindMemory(to: CInt.self).prefix(Int(count))) }
    }
}
