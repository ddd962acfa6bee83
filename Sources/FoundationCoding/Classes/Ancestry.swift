import Foundation
import Synchronization

/// What a class inherits from Foundation.
struct Ancestry: Sendable {
    /// The nearest `NSCoding` class of Foundation: the class itself or a superclass.
    let coding: AnyClass?
    /// The full name of that class.
    let codingName: String
    /// Whether the class is a class of Foundation, or a subclass of one other than `NSObject`.
    let hasFoundations: Bool

    static func of(_ type: AnyClass) -> Ancestry {
        known.withLock { known in
            if let ancestry = known[ObjectIdentifier(type)] { return ancestry }
            let ancestry = Ancestry(type)
            known[ObjectIdentifier(type)] = ancestry
            return ancestry
        }
    }

    private static let known = Mutex<[ObjectIdentifier: Ancestry]>([:])

    private init(_ type: AnyClass) {
        var ancestors: [AnyClass] = []
        var current: AnyClass? = type
        while let type = current, type != NSObject.self {
            if Self.isFoundations(type) { ancestors.append(type) }
            current = ClassNames.superclass(of: type)
        }
        hasFoundations = !ancestors.isEmpty
        coding = ancestors.first { $0 is any NSCoding.Type }
        codingName = coding.map { String(reflecting: $0) } ?? ""
    }

    private static func isFoundations(_ type: AnyClass) -> Bool {
        modules.contains(String(String(reflecting: type).prefix { $0 != "." }))
    }

    private static let modules: Set<String> = [
        "Foundation", "FoundationEssentials", "FoundationInternationalization", "FoundationNetworking", "FoundationXML",
    ]
}
