/// Marks optionals of any type.
protocol AnyOptional {}
extension Optional: AnyOptional {}
