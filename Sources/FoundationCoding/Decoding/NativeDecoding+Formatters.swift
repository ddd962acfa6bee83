import Foundation
import KeyedArchive

extension NativeDecoding {
    /// Formatters, which decode themselves after their values are checked.
    static let formatters: [(AnyClass, Maker)] = [
        (
            ISO8601DateFormatter.self,
            { unarchiver, _, _ in
                _ = try unarchiver.whole("NS.formatOptions", in: 0...0xFFFF)
                _ = try unarchiver.object(NSTimeZone.self, "NS.timeZone")
                return try made(ISO8601DateFormatter(coder: unarchiver))
            }
        ),
        (
            ByteCountFormatter.self,
            { unarchiver, _, _ in
                for key in ["NSUnits", "NSKBSize", "NSFormattingContext"] {
                    _ = try unarchiver.whole(key, in: 0...0xFFFF)
                }
                return try made(ByteCountFormatter(coder: unarchiver))
            }
        ),
        (
            DateIntervalFormatter.self,
            { unarchiver, _, _ in
                for key in ["NS.dateStyle", "NS.timeStyle"] { _ = try unarchiver.whole(key, in: 0...4) }
                for key in ["NS.dateTemplate", "NS.dateTemplateFromStyles", "NS.dateTemplateFromStyle"] {
                    _ = try unarchiver.text(key, longest: 1024)
                }
                _ = try unarchiver.object(NSLocale.self, "NS.locale")
                _ = try unarchiver.object(NSCalendar.self, "NS.calendar")
                _ = try unarchiver.object(NSTimeZone.self, "NS.timeZone")
                return try made(DateIntervalFormatter(coder: unarchiver))
            }
        ),
    ]

    private static func made(_ object: NSObject?) throws -> NSObject {
        guard let object else { throw ArchiveError(.corrupt, "values that make no such formatter") }
        return object
    }
}
