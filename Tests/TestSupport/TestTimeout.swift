/// How long tests wait for events that are sure to come.
///
/// The times only turn a hang into a failure; no test's verdict depends on speed. They are long because all tests start
/// at once and share the processors, perhaps with other programs and under a sanitizer.
package enum TestTimeout {
    /// For one condition, read, handshake or orderly close.
    package static let wait = Duration.seconds(600)
    /// For a whole test.
    package static let test = Duration.seconds(1_200)
    /// Makes a program of the FooBar example wait as long.
    package static let environment = ["FOOBAR_PATIENCE": "\(wait / .seconds(1))"]
}
