/// What typedstreams say of Foundation's own classes.
package enum TypedStreamFoundation {
    /// The version of a class that Apple's systems write; 0 for most.
    package static func version(of name: String) -> Int { versions[name] ?? 0 }

    private static let versions = ["NSString": 1, "NSMutableString": 1, "NSTimeZone": 1]
}
