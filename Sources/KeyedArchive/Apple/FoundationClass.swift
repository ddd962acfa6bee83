/// The Foundation classes that represent Swift values in Apple's archives.
enum FoundationClass: UInt8 {
    case string
    case data
    case array
    case set
    case countedSet
    case dictionary
    case date
    case url
    case uuid
    case null
    case decimal
    case number
    /// Not a Foundation class: an optional in an optional, which Foundation cannot express.
    case optional

    static let optionalName = "Swift.Optional"

    private static let names: [String: FoundationClass] = [
        "NSString": .string, "NSMutableString": .string, "NSData": .data, "NSMutableData": .data,
        "NSArray": .array, "NSMutableArray": .array, "NSOrderedSet": .array, "NSMutableOrderedSet": .array,
        "NSSet": .set, "NSMutableSet": .set, "NSCountedSet": .countedSet, "NSDictionary": .dictionary,
        "NSMutableDictionary": .dictionary, "NSDate": .date, "NSCalendarDate": .date, "NSURL": .url, "NSUUID": .uuid,
        "NSNull": .null, "NSDecimalNumber": .decimal, "NSNumber": .number, optionalName: .optional,
    ]

    /// The class with a name; nil if instances of that class stay objects.
    static func named(_ name: String) -> FoundationClass? { names[name] }
}
