/// What a frame says: the fields between its header and its tables.
protocol FrameContent {
    static var kind: FrameKind { get }
    var flags: UInt8 { get }

    /// Writes the fields in their order.
    func append(to outbox: inout Outbox)
}

extension FrameContent {
    @inline(__always) var flags: UInt8 { 0 }
}
