import DistantObjects
import FooBar

/// How long a test waits for what is sure to come: it ends a hang, and says nothing about how fast anything is.
///
/// Generous on purpose. All tests begin at once and share what processors there are, perhaps with other programs and
/// under a sanitizer.
enum Patience {
    /// For one condition, or the end of one program.
    static let wait = Duration.seconds(600)
}

extension Connection.Configuration {
    /// The example's, but for how long it waits.
    static var patient: Self {
        var configuration = fooBar
        configuration.handshakeTimeout = Patience.wait
        configuration.lookupDeadline = Patience.wait
        return configuration
    }
}
