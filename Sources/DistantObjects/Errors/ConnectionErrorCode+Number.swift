/// Codes go over the wire by number.
extension ConnectionError.Code {
    /// The codes in the order of their numbers, which begin with 1 and never change.
    private static let numbered: [Self] = [
        .notSent, .notDelivered, .outcomeUnknown, .noSuchMessage, .wrongArgument, .wrongResult, .overloaded,
        .deadlineExceeded, .cancelled, .peerRefused, .closed, .noSuchRoot, .protocolViolation, .handshakeTimeout,
        .wouldBlock, .tooLarge, .foreignReference, .notEncodable, .transport, .methodFailed, .oneWayLost,
        .interfaceMismatch, .notAvailable, .noObject, .streamUsed,
    ]

    /// What the name of a code begins with that this version does not know.
    private static let unknown = "code "

    /// The number of the code on the wire; 0 for a name that has none.
    var number: Int {
        if let index = Self.numbered.firstIndex(of: self) { return index + 1 }
        guard rawValue.hasPrefix(Self.unknown) else { return 0 }
        return max(Int(rawValue.dropFirst(Self.unknown.count)) ?? 0, 0)
    }

    /// The code of a number; later versions have more of them, which are kept.
    ///
    /// - Parameter number: Any number: a peer chooses it.
    init(number: Int) {
        if number > 0, number <= Self.numbered.count {
            self = Self.numbered[number - 1]
        } else {
            self.init(rawValue: Self.unknown + "\(number)")
        }
    }
}
