import Dispatch
import Testing

/// Bounds the time of each test it stands at, and of each in a suite: a hang becomes a failure.
///
/// What hangs cannot be unwound, so the whole run ends, after saying which test it was. The clock is no task: the threads
/// of tasks may be what is stuck.
struct BoundedTrait: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func scopeProvider(for test: Test, testCase: Test.Case?) -> BoundedTrait? { testCase == nil ? nil : self }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        let name = test.displayName ?? test.name
        let alarm = DispatchWorkItem { fatalError("“\(name)” did not end within \(Patience.test)") }
        let seconds = Int(Patience.test.components.seconds)
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(seconds), execute: alarm)
        defer { alarm.cancel() }
        try await function()
    }
}

extension Trait where Self == BoundedTrait {
    /// A test that takes longer than any does, `Patience.test`, ends the run.
    static func bounded() -> BoundedTrait { BoundedTrait() }
}
