import DistantObjects
import FooBar
import TestSupport

extension Connection.Configuration {
    /// The configuration of the example, with long timeouts.
    static var patientExample: Self { fooBar.withLongTimeouts }
}
