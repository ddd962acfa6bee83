package import DistantObjects

extension Connection.Configuration {
    /// The defaults, with long timeouts, because the library's own may be too short on a busy machine.
    package static var patient: Self { Self().withLongTimeouts }

    /// The configuration with long timeouts for handshakes, look-ups and unread answers.
    package var withLongTimeouts: Self {
        var configuration = self
        configuration.handshakeTimeout = TestTimeout.wait
        configuration.lookupDeadline = TestTimeout.wait
        configuration.limits.answerPatience = TestTimeout.wait
        return configuration
    }
}
