internal import CPortShims
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension Channel {
    /// Has the kernel refuse descriptors from the peer; the kernel lets them through only while the channel expects
    /// some.
    ///
    /// Bytes that are not read yet may already have come with descriptors. On a kernel that cannot refuse descriptors,
    /// any byte may. Each read of such bytes takes the descriptors, because otherwise the kernel closes them in the
    /// reading thread, and a peer can make that take long.
    ///
    /// The function is called with the read lock held, or before the channel is used.
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
        takeSender(ancillary)
        let foreign = reading.foreignBytes
        if foreign > 0, foreign < .max { reading.foreignBytes = max(0, foreign - received) }
        if ancillary.pointee.truncated {
            // The process had no room for the descriptors of shared memory: the connection goes on without shared
            // memory.
            guard reading.arrival.lose() else {
                throw TransportError(.protocolViolation, "descriptors were lost: too many came at once")
            }
            Self.closeForeign(reading.takeDescriptors())
        }
        if ancillary.pointee.count > 0 {
            for number in ancillary.pointee.numbers { reading.descriptors.append(number) }
            // The bound is as many as two messages can bring: see `OutboundQueue.planFrames`.
            let bound =
                acceptsDescriptors
                ? 2 * Self.maximumDescriptors
                : reading.arrival != .notExpected ? SharedMemoryTransport.descriptorCount : 0
            guard reading.descriptors.count <= bound else {
                throw TransportError(.protocolViolation, "descriptors came that no frame claims")
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
