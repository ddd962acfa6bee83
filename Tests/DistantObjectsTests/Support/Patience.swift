import DistantObjects

/// How long a test waits for what is sure to come: it ends a hang, and says nothing about how fast anything is.
///
/// Generous on purpose. All tests begin at once and share what processors there are, perhaps with other programs and
/// under a sanitizer.
enum Patience {
    /// For one condition, one read, one handshake or one orderly close.
    static let wait = Duration.seconds(600)
    /// For a whole test.
    static let test = Duration.seconds(1_200)
    /// Has the server of the FooBar example wait so long, too.
    static let environment = ["FOOBAR_PATIENCE": "\(wait / .seconds(1))"]
}

extension Connection.Configuration {
    /// The defaults, but for the time that a handshake, a look-up or the reading of answers may take: on a busy machine the
    /// library's own is over too soon.
    static var patient: Self {
        var configuration = Self()
        configuration.handshakeTimeout = Patience.wait
        configuration.lookupDeadline = Patience.wait
        configuration.limits.answerPatience = Patience.wait
        return configuration
    }
}
