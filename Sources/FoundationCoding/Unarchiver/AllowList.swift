import Foundation
import Synchronization

/// The classes allowed at a place in an archive and below it.
final class AllowList: Sendable {
    let classes: [AnyClass]
    /// The classes by their names in archives.
    let names: [String: AnyClass]
    /// Whether the classes of property lists were added.
    let isWidened: Bool
    private let wider = Mutex<AllowList?>(nil)

    private init(_ classes: [AnyClass], isWidened: Bool = false) {
        self.classes = classes
        self.isWidened = isWidened
        var names: [String: AnyClass] = [:]
        for type in classes {
            let name = ClassNames.name(of: type)
            names[name] = type
            // Names from other languages have no module.
            if let dot = name.lastIndex(of: ".") {
                let short = String(name[name.index(after: dot)...])
                if names[short] == nil { names[short] = type }
            }
        }
        self.names = names
    }

    func allows(_ type: AnyClass) -> Bool { classes.contains { ClassNames.isSubclass(type, of: $0) } }

    /// This list and the classes of property lists: for calls that name no class.
    var widened: AllowList {
        wider.withLock { wider in
            let list = wider ?? AllowList(Self.complete(classes + Self.propertyListClasses), isWidened: true)
            wider = list
            return list
        }
    }

    static let propertyListClasses: [AnyClass] = [
        NSString.self, NSNumber.self, NSData.self, NSDate.self, NSArray.self, NSDictionary.self,
    ]

    // MARK: One list for a set of classes

    /// The list of some classes and those that they list.
    ///
    /// It is made once, since to find the names takes as long as to open a small archive. What a class lists may change
    /// while the program runs, so that it is asked for each archive.
    static func of(_ classes: [AnyClass]) -> AllowList {
        let key = classes.map { ObjectIdentifier($0) }
        if let list = known.withLock({ $0[key] }) { return list }
        let list = AllowList(complete(classes))
        guard !list.classes.contains(where: { $0 is any NSCodingClassListing.Type }) else { return list }
        return known.withLock { known in
            if let other = known[key] { return other }
            if known.count < mostKnown { known[key] = list }
            return list
        }
    }

    private static let known = Mutex<[[ObjectIdentifier]: AllowList]>([:])
    private static let mostKnown = 256

    /// Adds the classes that classes list, and the ones those list.
    private static func complete(_ classes: [AnyClass]) -> [AnyClass] {
        var all = classes
        var next = 0
        var known = Set(classes.map { ObjectIdentifier($0) })
        while next < all.count {
            for type in (all[next] as? any NSCodingClassListing.Type)?.archivedClasses ?? [] {
                if known.insert(ObjectIdentifier(type)).inserted { all.append(type) }
            }
            next += 1
        }
        return all
    }
}
