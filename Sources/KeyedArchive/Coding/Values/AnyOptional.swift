/// Marks optionals of any type.
protocol AnyOptional {
    static var none: Self { get }
}

extension Optional: AnyOptional {}

/// Marks dictionaries of any type.
protocol AnyDictionary {}

extension Dictionary: AnyDictionary {}
