import Foundation

/// The elements of Foundation's collections as the stored objects.
///
/// The accessors of the collections turn an `NSMutableString` into a `String` and an `NSMutableArray` into an `Array`,
/// which loses class and identity. The mirrors of the collections show the stored objects.
enum RawElements {
    /// The elements of an array or set.
    static func list(_ collection: NSObject) -> [AnyObject] {
        let elements = Mirror(reflecting: collection).children.map { $0.value as AnyObject }
        switch collection {
        case let array as NSArray where array.count != elements.count: return array.map { $0 as AnyObject }
        case let set as NSOrderedSet where set.count != elements.count: return set.map { $0 as AnyObject }
        case let set as NSSet where elements.count != set.count: return set.allObjects.map { $0 as AnyObject }
        default: return elements
        }
    }

    /// The keys and values of a dictionary, in the order of the keys if those are strings.
    ///
    /// So equal dictionaries give equal archives.
    static func pairs(_ collection: NSObject) -> [(key: AnyObject, value: AnyObject)] {
        guard let dictionary = collection as? NSDictionary else { return [] }
        var pairs = Mirror(reflecting: collection).children.compactMap { child in
            (child.value as? (key: NSObject, value: AnyObject)).map { (key: $0.key as AnyObject, value: $0.value) }
        }
        if pairs.count != dictionary.count {
            pairs = dictionary.map { (key: $0.key as AnyObject, value: $0.value as AnyObject) }
        }
        let names = pairs.compactMap { ($0.key as? NSString) as String? }
        guard names.count == pairs.count else { return pairs }
        return zip(names, pairs).sorted { $0.0 < $1.0 }.map(\.1)
    }
}
