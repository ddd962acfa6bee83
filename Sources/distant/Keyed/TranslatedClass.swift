/// The classes whose objects have a form in keyed archives that is known, by their names in typedstreams.
enum TranslatedClass: String {
    case string = "NSString"
    case mutableString = "NSMutableString"
    case data = "NSData"
    case mutableData = "NSMutableData"
    case number = "NSNumber"
    /// What Apple's systems archive for an `NSDecimalNumber`.
    case decimal = "NSDecimalNumberPlaceholder"
    case value = "NSValue"
    case null = "NSNull"
    case array = "NSArray"
    case mutableArray = "NSMutableArray"
    case set = "NSSet"
    case mutableSet = "NSMutableSet"
    case dictionary = "NSDictionary"
    case mutableDictionary = "NSMutableDictionary"
    case date = "NSDate"
    case calendarDate = "NSCalendarDate"
    case timeZone = "NSTimeZone"
    case url = "NSURL"
    case attributedString = "NSAttributedString"
    case mutableAttributedString = "NSMutableAttributedString"

    /// The class in keyed archives, with its superclasses, where it is another one.
    var keyed: (name: String, superclasses: [String])? {
        switch self {
        case .calendarDate: ("NSDate", ["NSObject"])
        case .decimal: ("NSDecimalNumber", ["NSNumber", "NSValue", "NSObject"])
        default: nil
        }
    }

    /// Whether keyed archives have the value itself in the place of an object.
    var isPlain: Bool {
        switch self {
        case .string, .data, .number: true
        default: false
        }
    }
}
