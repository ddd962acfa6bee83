import Foundation

/// The classes allowed at a place in an archive and below it.
final class AllowList {
    let classes: [AnyClass]
    /// The classes by their names in archives.
    let names: [String: AnyClass]

    init(_ classes: [AnyClass]) {
        var all = classes
        // Adds the classes that these classes list, and the ones those list.
        var next = 0
        var known = Set(classes.map { ObjectIdentifier($0) })
        while next < all.count {
            for type in (all[next] as? any NSCodingClassListing.Type)?.archivedClasses ?? [] {
                if known.insert(ObjectIdentifier(type)).inserted { all.append(type) }
            }
            next += 1
        }
        self.classes = all
        var names: [String: AnyClass] = [:]
        for type in all {
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
    private(set) lazy var widened: AllowList = {
        let list = AllowList(classes + Self.propertyListClasses)
        list.isWidened = true
        return list
    }()

    private(set) var isWidened = false

    static let propertyListClasses: [AnyClass] = [
        NSString.self, NSNumber.self, NSData.self, NSDate.self, NSArray.self, NSDictionary.self,
    ]
}
