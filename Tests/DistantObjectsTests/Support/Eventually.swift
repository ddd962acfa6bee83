import TestSupport
import Testing

/// Waits until a condition holds that no event announces, and records an issue if it does not in time.
///
/// - Parameter what: The condition; made when it does not hold in time.
func eventually(
    _ what: @autoclosure () -> String, location: SourceLocation = #_sourceLocation, _ condition: () -> Bool
) async {
    let deadline = ContinuousClock.now + TestTimeout.wait
    while !condition() {
        guard ContinuousClock.now < deadline else {
            Issue.record("not within \(TestTimeout.wait): \(what())", sourceLocation: location)
            return
        }
        try? await Task.sleep(for: .milliseconds(1))
    }
}
