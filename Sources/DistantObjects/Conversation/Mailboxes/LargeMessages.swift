import PortTransport

/// The tables for large messages of the peer.
struct LargeMessageTables: ~Copyable, MadeOnDemand {
    var arriving: [UInt64: PartialMessage] = [:]
    var laidAside = LaidAside()
}

/// The messages of the peer that come in fragments: those that are arriving, and those that have come and wait.
struct LargeMessages: ~Copyable {
    private var tables = LazyBox<LargeMessageTables>()

    /// Whether there was such a message.
    var isUsed: Bool { tables.isMade }

    /// The messages whose fragments are still arriving, by the number of their opener, the first frame.
    var arriving: [UInt64: PartialMessage] {
        @inline(__always) get { tables.read { $0.arriving } ?? [:] }
    }
    /// The messages whose fragments have come, and that wait to be started or read.
    var laidAside: LaidAside {
        @inline(__always) get { tables.read { $0.laidAside } ?? LaidAside() }
        @inline(__always) _modify { yield &tables.value.laidAside }
    }

    /// Enters a message whose fragments follow.
    mutating func begin(_ partial: PartialMessage, _ frame: borrowing InboundFrame) {
        tables.value.arriving[frame.number] = partial
        tables.value.laidAside.begin(partial)
    }

    /// Completes a message whose fragments have come.
    ///
    /// - Parameter bytes: Nil if its sender has aborted it.
    /// - Returns: Nil if there is no such message.
    mutating func complete(_ number: UInt64, _ bytes: ByteSlice?) -> PartialMessage? {
        guard isUsed, let partial = tables.value.arriving.removeValue(forKey: number) else { return nil }
        partial.complete(bytes)
        tables.value.laidAside.end(partial)
        return partial
    }

    /// The object that all messages which are arriving are calls to; nil if there is no such object.
    var onlyTarget: Export? {
        var target: Export?
        for partial in arriving.values {
            guard case .call(let export) = partial.recipient, target == nil || export === target else { return nil }
            target = export
        }
        return target
    }

    /// Empties the table of messages that are arriving.
    mutating func removeAll() -> [PartialMessage] {
        guard isUsed else { return [] }
        defer { tables.value.arriving = [:] }
        return Array(tables.value.arriving.values)
    }
}
