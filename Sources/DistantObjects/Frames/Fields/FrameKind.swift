import PortTransport

/// The kind of a frame, a byte in its header.
///
/// `WireProtocol.md` describes each kind. The numbers are fixed for protocol version 1.
package enum FrameKind: UInt8, Sendable {
    case hello = 1
    case call = 2
    case `return` = 3
    case cancel = 4
    case drop = 5
    case release = 6
    case credit = 7
    case item = 8
    case end = 9
    case barrier = 10
    case ping = 11
    case pong = 12
    case failed = 13
    case provide = 14
    case accept = 15
    case goodbye = 16
    case share = 17
}

extension FrameKind {
    /// The content that frames of a kind may have, and when they may come.
    struct Allowance: OptionSet {
        let rawValue: UInt8

        static let flags = Allowance(rawValue: 1)
        static let fragments = Allowance(rawValue: 2)
        static let descriptors = Allowance(rawValue: 4)
        static let beforeHello = Allowance(rawValue: 8)
    }

    var allowance: Allowance {
        switch self {
        case .call, .return, .end: [.flags, .fragments]
        case .item: .fragments
        case .credit: .flags
        case .share: [.flags, .descriptors]
        case .hello, .goodbye: .beforeHello
        case .cancel, .drop, .release, .barrier, .ping, .pong, .failed, .provide, .accept: []
        }
    }
}

extension InboundFrame {
    /// The flags that its kind defines, without that of the channel.
    var ownFlags: UInt8 {
        @inline(__always) get { flags & ~FrameHeader.fragmentedFlag }
    }
}
