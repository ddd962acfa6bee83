/// Marks optionals of whatever content.
protocol AnyOptional {}
extension Optional: AnyOptional {}
