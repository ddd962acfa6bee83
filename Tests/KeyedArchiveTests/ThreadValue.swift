import Foundation

/// A value for the code that runs on this thread within a closure.
///
/// A task-local value whose type is a closure ends the process here in release builds (Swift 6.3.1): its type is lost.
struct ThreadValue<Value: Sendable>: Sendable {
    private final class Box {
        let value: Value

        init(_ value: Value) { self.value = value }
    }

    private let key: String
    private let fallback: Value

    init(_ key: String, fallback: Value) {
        self.key = key
        self.fallback = fallback
    }

    var value: Value { (Thread.current.threadDictionary[key] as? Box)?.value ?? fallback }

    func withValue<Result>(_ value: Value, _ body: () throws -> Result) rethrows -> Result {
        let before = Thread.current.threadDictionary[key]
        Thread.current.threadDictionary[key] = Box(value)
        defer { Thread.current.threadDictionary[key] = before }
        return try body()
    }
}
