import DistantObjects
import FooBar
import TestSupport

extension Connection.Configuration {
    /// The configuration of the example, with long timeouts.
    static var patientExample: Self { fooBar.withLongTimeouts }
}

extension ConnectionAddress {
    /// Waits until a service of this process can be connected to; its name is listed before it listens.
    func isServed() async {
        while true {
            if let connection = try? await Connection.open(self, configuration: .patientExample) {
                await connection.close()
                return
            }
            await Task.yield()
        }
    }
}
