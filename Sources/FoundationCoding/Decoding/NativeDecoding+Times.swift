import Foundation
import KeyedArchive

extension NativeDecoding {
    static let times: [(AnyClass, Maker)] = [
        (NSDate.self, date),
        (NSDateInterval.self, interval),
        (NSTimeZone.self, timeZone),
        (NSLocale.self, locale),
        (NSCalendar.self, calendar),
        (NSDateComponents.self, components),
    ]

    @Sendable private static func date(
        _ unarchiver: NSCodingUnarchiver, _ record: ArchivedRecord, _ index: Int
    ) throws -> NSObject {
        guard let time = try record.first(of: StoredForm.date).flatMap({ try unarchiver.number($0) }) else {
            throw ArchiveError(.missingKey, "a date without NS.time")
        }
        if case .date(let bits) = time {
            return NSDate(timeIntervalSinceReferenceDate: Double(bitPattern: bits))
        }
        return NSDate(timeIntervalSinceReferenceDate: try Scalar.real(time))
    }

    /// Foundation's own `init(coder:)` uses the start as the end, and traps if the end is earlier.
    @Sendable private static func interval(
        _ unarchiver: NSCodingUnarchiver, _ record: ArchivedRecord, _ index: Int
    ) throws -> NSObject {
        guard let start = try unarchiver.object(NSDate.self, "NS.startDate"),
            let end = try unarchiver.object(NSDate.self, "NS.endDate"),
            start.timeIntervalSinceReferenceDate <= end.timeIntervalSinceReferenceDate
        else { throw ArchiveError(.corrupt, "an interval without start and end, or that ends before it starts") }
        return NSDateInterval(start: start as Date, end: end as Date)
    }

    @Sendable private static func timeZone(
        _ unarchiver: NSCodingUnarchiver, _ record: ArchivedRecord, _ index: Int
    ) throws -> NSObject {
        let name = try unarchiver.text("NS.name", orNext: true, longest: 256)
        guard let zone = timeZone(named: name) else {
            throw ArchiveError(.corrupt, "a time zone that is not known here")
        }
        return zone
    }

    /// The time zone with a name from an archive; nil if there is none.
    static func timeZone(named name: String) -> NSTimeZone? {
        // Time zones are looked up by a path that contains the name.
        guard name.utf8.count <= 256, name.utf8.allSatisfy({ $0 > 32 && $0 < 127 }), !name.contains(".."),
            !name.hasPrefix("/")
        else { return nil }
        return NSTimeZone(name: name, data: nil)
    }

    @Sendable private static func locale(
        _ unarchiver: NSCodingUnarchiver, _ record: ArchivedRecord, _ index: Int
    ) throws -> NSObject {
        let identifier = try unarchiver.text("NS.identifier", orNext: true, longest: 256)
        // Foundation makes such a locale, and traps when a calendar that has it is archived.
        guard identifier.utf8.allSatisfy({ $0 > 32 && $0 < 127 }) else {
            throw ArchiveError(.corrupt, "a locale whose identifier is not plain ASCII")
        }
        return NSLocale(localeIdentifier: identifier)
    }

    @Sendable private static func calendar(
        _ unarchiver: NSCodingUnarchiver, _ record: ArchivedRecord, _ index: Int
    ) throws -> NSObject {
        let name = try unarchiver.text("NS.identifier", orNext: true, longest: 256)
        guard let calendar = NSCalendar(identifier: NSCalendar.Identifier(rawValue: name)) else {
            throw ArchiveError(.corrupt, "a calendar that is not known here")
        }
        if let zone = try unarchiver.object(NSTimeZone.self, "NS.timezone") { calendar.timeZone = zone as TimeZone }
        if let locale = try unarchiver.object(NSLocale.self, "NS.locale") { calendar.locale = locale as Locale }
        if let start = try unarchiver.object(NSDate.self, "NS.gstartdate") {
            guard abs(start.timeIntervalSinceReferenceDate) < 1e13 else {
                throw ArchiveError(.outOfRange, "a calendar whose start is out of range")
            }
        }
        let weekday = try unarchiver.whole("NS.firstwkdy", in: 0...7)
        if weekday > 0 { calendar.firstWeekday = weekday }
        let days = try unarchiver.whole("NS.mindays", in: 0...7)
        if days > 0 { calendar.minimumDaysInFirstWeek = days }
        // Only the calendar's own initializer can set its start date; its values were checked above.
        if weekday > 0, days > 0, record["NS.gstartdate"] != nil, let own = NSCalendar(coder: unarchiver) { return own }
        return calendar
    }

    @Sendable private static func components(
        _ unarchiver: NSCodingUnarchiver, _ record: ArchivedRecord, _ index: Int
    ) throws -> NSObject {
        let components = NSDateComponents()
        func set(_ key: String, _ set: (Int) -> Void) throws {
            guard record[key] != nil else { return }
            set(try unarchiver.whole(key, in: .min ... .max))
        }
        try set("NS.era") { components.era = $0 }
        try set("NS.year") { components.year = $0 }
        try set("NS.quarter") { components.quarter = $0 }
        try set("NS.month") { components.month = $0 }
        try set("NS.day") { components.day = $0 }
        try set("NS.hour") { components.hour = $0 }
        try set("NS.minute") { components.minute = $0 }
        try set("NS.second") { components.second = $0 }
        try set("NS.nanosec") { components.nanosecond = $0 }
        try set("NS.weekOfYear") { components.weekOfYear = $0 }
        try set("NS.weekOfMonth") { components.weekOfMonth = $0 }
        try set("NS.yearForWOY") { components.yearForWeekOfYear = $0 }
        try set("NS.weekday") { components.weekday = $0 }
        try set("NS.weekdayOrdinal") { components.weekdayOrdinal = $0 }
        if unarchiver.decodeBool(forKey: "NS.isLeapMonth") { components.isLeapMonth = true }
        components.calendar = try unarchiver.object(NSCalendar.self, "NS.calendar").map { $0 as Calendar }
        components.timeZone = try unarchiver.object(NSTimeZone.self, "NS.timezone").map { $0 as TimeZone }
        return components
    }
}
