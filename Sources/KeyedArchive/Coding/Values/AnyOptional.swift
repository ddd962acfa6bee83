/// Marks optionals of any type.
protocol AnyOptional {
    static var none: Self { get }
}

extension Optional: AnyOptional {}
