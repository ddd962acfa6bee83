import Foundation
import KeyedArchive

/// Checks for `NSURLRequest`, which decodes itself.
///
/// Its `init(coder:)` traps if a value is missing, and names no classes. The class is in a module that this one does
/// not import, so it is found by name.
extension NativeDecoding {
    private static let requestName = "FoundationNetworking.NSURLRequest"

    static func isRequest(_ type: AnyClass) -> Bool {
        var current: AnyClass? = type
        while let type = current {
            if String(reflecting: type) == requestName { return true }
            current = ClassNames.superclass(of: type)
        }
        return false
    }

    /// Checks the values that a request is about to read.
    static func checkRequest(_ unarchiver: NSCodingUnarchiver) throws {
        for (key, most) in [("NS._cachePolicy", 5), ("NS._networkServiceType", 4)] {
            guard let number = try unarchiver.object(NSNumber.self, key), (0...most).contains(number.intValue) else {
                throw ArchiveError(.corrupt, "a request whose \(key) is missing or not known")
            }
        }
        for key in [
            "NS._timeoutInterval", "NS._allowsCellularAccess", "NS._httpShouldHandleCookies",
            "NS._httpShouldUsePipelining",
        ] {
            guard try unarchiver.object(NSNumber.self, key) != nil else {
                throw ArchiveError(.corrupt, "a request without \(key)")
            }
        }
        _ = try unarchiver.object(NSURL.self, "NS.url")
        _ = try unarchiver.object(NSURL.self, "NS.mainDocumentURL")
        _ = try unarchiver.text("NS.httpMethod")
        let fields = unarchiver.decodeObject(
            of: [NSDictionary.self, NSString.self], forKey: "NS._allHTTPHeaderFields")
        if let failure = unarchiver.failure { throw failure }
        for pair in (fields as? NSDictionary).map(RawElements.pairs) ?? [] {
            guard pair.key is NSString, pair.value is NSString else {
                throw ArchiveError(.corrupt, "a request with header fields that are no strings")
            }
        }
    }
}
