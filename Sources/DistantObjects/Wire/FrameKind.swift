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
