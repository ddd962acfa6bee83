import Foundation

/// The classes allowed at a place of an archive and below it.
final class AllowList {
    let classes: [AnyClass]
    /// The classes by the names archives have for them.
    let names: [String: AnyClass]

    init(_ classes: [AnyClass]) {
        var all = classes
        // What a class lists counts, and what those list.
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
            // Archives of other languages have no modules.
            if let dot = name.lastIndex(of: ".") {
                let short = String(name[name.index(after: dot)...])
                if names[short] == nil { names[short] = type }
            }
        }
        self.names = names
    }

    func allows(_ type: AnyClass) -> Bool { classes.contains { ClassNames.isSubclass(type, of: $0) } }

    /// The same with the classes of property lists: what a call that names no class may find.
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
