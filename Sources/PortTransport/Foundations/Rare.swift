/// A value that is usually missing.
///
/// It has memory of its own, so that an object without the value spends one word on it.
package enum Rare<Value> {
    case missing
    indirect case present(Value)

    package var value: Value? {
        if case .present(let value) = self { value } else { nil }
    }

    /// Changes the value, or a new one if it is missing.
    package mutating func change(orNew new: @autoclosure () -> Value, _ body: (inout Value) -> Void) {
        var changed = value ?? new()
        body(&changed)
        self = .present(changed)
    }
}
