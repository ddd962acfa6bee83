import Dispatch
package import Testing

/// Limits the time of a test, or of each test in a suite, so that a hang becomes a failure.
///
/// A test that hangs cannot be unwound, so the trait prints its name and ends the whole run. The timer is no task,
/// because the threads that run tasks may be what hangs.
package struct BoundedTrait: SuiteTrait, TestTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func scopeProvider(for test: Test, testCase: Test.Case?) -> BoundedTrait? { testCase == nil ? nil : self }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        let name = test.displayName ?? test.name
        let alarm = DispatchWorkItem { fatalError("“\(name)” did not end within \(TestTimeout.test)") }
        let seconds = Int(TestTimeout.test.components.seconds)
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(seconds), execute: alarm)
        defer { alarm.cancel() }
        try await function()
    }
}

extension Trait where Self == BoundedTrait {
    /// Ends the run if a test takes longer than `TestTimeout.test`.
    package static func bounded() -> BoundedTrait { BoundedTrait() }
}
