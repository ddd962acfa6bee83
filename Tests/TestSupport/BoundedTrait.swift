import Dispatch
import Synchronization
package import Testing

/// Limits the time of a test, or of each test in a suite, so that a hang becomes a failure, and how many run at a time.
///
/// The testing library starts all tests at once. A process shares memory with few peers, and tests that wait for such memory
/// would use it up for each other.
///
/// A test that hangs cannot be unwound, so the trait prints its name and ends the whole run. The timer is no task,
/// because the threads that run tasks may be what hangs.
///
/// The first test raises the limit of descriptors for all.
package struct BoundedTrait: SuiteTrait, TestTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func scopeProvider(for test: Test, testCase: Test.Case?) -> BoundedTrait? { testCase == nil ? nil : self }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        // The trait of the suite has entered the test already.
        if Self.isEntered { return try await function() }
        DescriptorLimit.raise()
        await Self.places.enter()
        defer { Self.places.leave() }
        try await Self.$isEntered.withValue(true) { try await run(test, function) }
    }

    private func run(_ test: Test, _ function: @Sendable @concurrent () async throws -> Void) async throws {
        let name = test.displayName ?? test.name
        let alarm = DispatchWorkItem { fatalError("“\(name)” did not end within \(TestTimeout.test)") }
        let seconds = Int(TestTimeout.test.components.seconds)
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(seconds), execute: alarm)
        defer { alarm.cancel() }
        try await function()
    }

    @TaskLocal private static var isEntered = false
    // With more of them, each waits longer for a processor, and a sanitizer on a slow machine takes it to the limit.
    private static let places = Places(32)
}

/// Places for tests that run at a time.
private final class Places: Sendable {
    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(_ count: Int) { state = Mutex(State(free: count)) }

    func enter() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.free > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.free -= 1
                return true
            }
            if isFree { continuation.resume() }
        }
    }

    func leave() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.free += 1
            return nil
        }
        next?.resume()
    }
}

extension Trait where Self == BoundedTrait {
    /// Ends the run if a test takes longer than `TestTimeout.test`.
    package static func bounded() -> BoundedTrait { BoundedTrait() }
}
