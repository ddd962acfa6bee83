import Foundation
import FoundationNetworking

/// Subclasses that decode with the code of Foundation they inherit.
enum Subclasses {
    final class SubAffineTransform: NSAffineTransform {}
    final class SubArray: NSArray {}
    final class SubAttributedString: NSAttributedString {}
    final class SubByteCountFormatter: ByteCountFormatter {}
    final class SubCountedSet: NSCountedSet {
        // Foundation's traps in subclasses.
        override func add(_ object: Any) {}
    }
    final class SubCredential: URLCredential, @unchecked Sendable {}
    final class SubData: NSData {}
    final class SubDate: NSDate, @unchecked Sendable {}
    final class SubDateFormatter: DateFormatter, @unchecked Sendable {}
    final class SubDateInterval: NSDateInterval, @unchecked Sendable {}
    final class SubDictionary: NSDictionary {}
    final class SubDimension: Dimension, @unchecked Sendable {}
    final class SubError: NSError, @unchecked Sendable {}
    final class SubFormatter: Formatter, @unchecked Sendable {}
    final class SubHandler: NSDecimalNumberHandler, @unchecked Sendable {}
    final class SubHTTPResponse: HTTPURLResponse, @unchecked Sendable {}
    final class SubIndexSet: NSIndexSet {}
    final class SubISO8601: ISO8601DateFormatter {}
    final class SubMeasurement: NSMeasurement {}
    final class SubMutableAttributedString: NSMutableAttributedString {}
    final class SubMutableData: NSMutableData {}
    final class SubMutableIndexSet: NSMutableIndexSet {}
    final class SubMutableArray: NSMutableArray {}
    final class SubMutableDictionary: NSMutableDictionary {}
    final class SubMutableRequest: NSMutableURLRequest {}
    final class SubMutableSet: NSMutableSet {}
    final class SubNotification: NSNotification {}
    final class SubNull: NSNull, @unchecked Sendable {}
    final class SubNumberFormatter: NumberFormatter, @unchecked Sendable {}
    final class SubQueryItem: NSURLQueryItem, @unchecked Sendable {}
    final class SubRequest: NSURLRequest {}
    final class SubResponse: URLResponse, @unchecked Sendable {}
    final class SubSet: NSSet {}
    final class SubTextCheckingResult: NSTextCheckingResult {}
    final class SubUnit: Unit, @unchecked Sendable {}
    final class SubURL: NSURL, @unchecked Sendable {}
    final class SubUUID: NSUUID, @unchecked Sendable {}

    final class SubDecimalNumber: NSDecimalNumber, @unchecked Sendable {
        required init?(coder: NSCoder) { super.init(coder: coder) }
        required init(bytes buffer: UnsafeRawPointer, objCType type: UnsafePointer<CChar>) { fatalError() }
        required convenience init(floatLiteral value: Double) { fatalError() }
        required convenience init(booleanLiteral value: Bool) { fatalError() }
        required convenience init(integerLiteral value: Int) { fatalError() }
    }

    static let all: [AnyClass] = [
        SubMutableAttributedString.self, SubMutableData.self, SubMutableIndexSet.self,

        SubAffineTransform.self, SubArray.self, SubAttributedString.self, SubByteCountFormatter.self,
        SubCountedSet.self, SubCredential.self, SubData.self, SubDate.self,
        SubDateFormatter.self, SubDateInterval.self,
        SubDictionary.self, SubDimension.self, SubError.self,
        SubFormatter.self, SubHandler.self, SubHTTPResponse.self, SubIndexSet.self,
        SubISO8601.self, SubMeasurement.self, SubMutableArray.self, SubMutableDictionary.self,
        SubMutableRequest.self, SubMutableSet.self, SubNotification.self, SubNull.self, SubNumberFormatter.self,
        SubQueryItem.self, SubRequest.self, SubResponse.self, SubSet.self, SubTextCheckingResult.self, SubUnit.self,
        SubURL.self, SubUUID.self, SubDecimalNumber.self,
    ]
}
