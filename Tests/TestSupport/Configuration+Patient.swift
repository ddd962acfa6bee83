package import DistantObjects

extension Connection.Configuration {
    /// The defaults, with long timeouts, because the library's own may be too short on a busy machine.
    package static var patient: Self { Self().withLongTimeouts }

    /// The configuration with long timeouts for handshakes, look-ups, unread answers and the exit of a helper.
    package var withLongTimeouts: Self {
        var configuration = self
        configuration.handshakeTimeout = TestTimeout.wait
        // A peer that a test plays frame by frame expects no question in between.
        configuration.lookupPatience = TestTimeout.wait
        configuration.lookupTimeout = TestTimeout.wait
        configuration.limits.answerPatience = TestTimeout.wait
        configuration.exitTimeout = TestTimeout.wait
        return configuration
    }
}
