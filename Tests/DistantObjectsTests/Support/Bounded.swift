import Dispatch
import Testing

/// Bounds the time of each test it stands at, and of each in a suite: a hang becomes a failure.
///
/// What hangs cannot be unwound, so the whole run ends, after saying which test it was. The clock is no task: the threads
/// of tasks may be what is stuck.
struct BoundedTrait: SuiteTrait, TestTrait, TestScoping {
    let seconds: Int
    var isRecursive: Bool { true }

    func scopeProvider(for test: Test, testCase: Test.Case?) -> BoundedTrait? { testCase == nil ? nil : self }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        let name = test.displayName ?? test.name
        let alarm = DispatchWorkItem { [seconds] in
            fatalError("“\(name)” did not end within \(seconds) s")
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(seconds), execute: alarm)
        defer { alarm.cancel() }
        try await function()
    }
}

extension Trait where Self == BoundedTrait {
    /// A test that takes longer, in seconds, ends the run.
    ///
    /// Far longer than any test needs by itself: all of them begin at once and share what processors there are.
    static func bounded(_ seconds: Int = 900) -> BoundedTrait { BoundedTrait(seconds: seconds) }
}

/// Waits until the condition holds, which nothing announces.
func eventually(
    within limit: Duration = .seconds(300), _ what: String, location: SourceLocation = #_sourceLocation,
    _ condition: () -> Bool
) async {
    let deadline = ContinuousClock.now + limit
    while !condition() {
        guard ContinuousClock.now < deadline else {
            Issue.record("not within \(limit): \(what)", sourceLocation: location)
            return
        }
        try? await Task.sleep(for: .milliseconds(1))
    }
}
