import Foundation
import KeyedArchive

extension FoundationNeeds {
    /// What the nearest of Foundation's `NSCoding` classes among a class and its superclasses needs; nil for other classes.
    ///
    /// - Throws: `ArchiveError` if that class is not one that may be made from an archive, or one that may not have
    ///   subclasses there.
    static func ofFoundation(in type: AnyClass) throws -> FoundationNeeds? {
        let ancestry = Ancestry.of(type)
        guard let ancestor = ancestry.coding else { return nil }
        if let needs = table[ancestry.codingName] { return needs }
        guard let maker = NativeDecoding.maker(of: ancestor), ancestor == type || !hasNoSubclasses(ancestor) else {
            throw ArchiveError(.unsupported, refusal(of: type, for: ancestor))
        }
        return FoundationNeeds(further: maker)
    }

    /// Checks that objects of a class may be made from an archive at all.
    ///
    /// Nothing is asked of a class before this check, not even whether it supports secure coding: some trap.
    static func admit(_ type: AnyClass) throws {
        if NativeDecoding.maker(of: type) == nil { _ = try ofFoundation(in: type) }
    }

    private static func refusal(of type: AnyClass, for ancestor: AnyClass) -> String {
        let name = ClassNames.name(of: ancestor)
        return ancestor == type
            ? "\(name) of Foundation cannot be made from an archive"
            : "\(ClassNames.name(of: type)) is a subclass of Foundation’s \(name), which cannot be made from an archive"
    }

    /// Whether the initializers that a subclass inherits from the class always trap.
    private static func hasNoSubclasses(_ type: AnyClass) -> Bool {
        type == NSValue.self || type == NSTextCheckingResult.self || type == NSURL.self
    }

    /// The classes by their full names; some are not public, or in a module that this one does not import.
    ///
    /// For classes that the unarchiver makes itself and that are not here, subclasses need what it needs.
    package static let table: [String: FoundationNeeds] = {
        var table = ownCode.merging(forSubclasses) { one, _ in one }
        for name in dimensions { table["Foundation.\(name)"] = dimension }
        return table
    }()

    // MARK: Classes that make themselves

    private static let ownCode: [String: FoundationNeeds] = [
        "Foundation.Formatter": FoundationNeeds(),
        "Foundation.DateFormatter": FoundationNeeds(),
        "Foundation.NumberFormatter": FoundationNeeds(),
        "Foundation.LengthFormatter": FoundationNeeds(),
        "Foundation.MassFormatter": FoundationNeeds(),
        "Foundation.EnergyFormatter": FoundationNeeds(),
        "Foundation.ByteCountFormatter": FoundationNeeds(
            Value.optional(.integer(0...0xFFFF), "NSUnits", "NSKBSize", "NSFormattingContext")
                + Value.optional(
                    .flag, "NSZeroPad", "NSActual", "NSNoNonnumeric", "NSNoUnit", "NSNoCount", "NSNoAdaptive")),
        "Foundation.ISO8601DateFormatter": FoundationNeeds(
            Value.optional(.integer(0...0xFFFF), "NS.formatOptions")
                + Value.optional(.object([NSTimeZone.self]), "NS.timeZone")),
        "Foundation.DateIntervalFormatter": FoundationNeeds(
            Value.optional(.integer(0...4), "NS.dateStyle", "NS.timeStyle")
                + Value.optional(.text(longest: 1024), "NS.dateTemplate", "NS.dateTemplateFromStyle")
                + Value.optional(.flag, "NS.modified", "NS.useTemplate")
                + Value.optional(.object([NSLocale.self]), "NS.locale")
                + Value.optional(.object([NSCalendar.self]), "NS.calendar")
                + Value.optional(.object([NSTimeZone.self]), "NS.timeZone"),
            unnamed: [NSLocale.self, NSCalendar.self, NSTimeZone.self]),
        "Foundation.NSPersonNameComponents": FoundationNeeds(
            Value.optional(
                .text(longest: .max), "NS.namePrefix", "NS.givenName", "NS.middleName", "NS.familyName",
                "NS.nameSuffix", "NS.nickname")),
        "Foundation.NSMeasurement": FoundationNeeds(
            Value.optional(.real, "NS.value") + Value.required(.object([Unit.self]), "NS.unit")),
        "Foundation.UnitConverterLinear": FoundationNeeds(Value.optional(.real, "NS.coefficient", "NS.constant")),
        "Foundation.NSUnitConverterReciprocal": FoundationNeeds(Value.optional(.real, "NS.reciprocal")),
        "Foundation.Unit": FoundationNeeds(Value.required(.text(longest: .max), "NS.symbol")),
        "Foundation.NSDecimalNumberHandler": FoundationNeeds(
            Value.optional(.integer(0...3), "NS.roundingMode")
                + Value.optional(.integer(Int(Int16.min)...Int(Int16.max)), "NS.scale")
                + Value.optional(
                    .flag, "NS.raise.exactness", "NS.raise.overflow", "NS.raise.underflow",
                    "NS.raise.dividebyzero")),
        "FoundationNetworking.NSURLRequest": request,
        "FoundationNetworking.NSMutableURLRequest": request,
        "FoundationNetworking.URLResponse": FoundationNeeds(response),
        "FoundationNetworking.HTTPURLResponse": FoundationNeeds(
            response + Value.optional(.integer(.min ... .max), "NS.statusCode")
                + Value.optional(.texts, "NS.allHeaderFields")),
        "FoundationNetworking.URLCredential": FoundationNeeds(
            Value.required(.text(longest: .max), "NS._user", "NS._password")
                + Value.required(.number(0...3), "NS._persistence")),
    ]

    private static let request = FoundationNeeds(
        Value.required(.number(0...5), "NS._cachePolicy")
            + Value.required(.number(0...4), "NS._networkServiceType")
            + Value.required(
                .number(nil), "NS._timeoutInterval", "NS._allowsCellularAccess", "NS._httpShouldHandleCookies",
                "NS._httpShouldUsePipelining")
            // Without a URL it could not be copied.
            + Value.required(.object([NSURL.self]), "NS.url")
            + Value.optional(.object([NSURL.self]), "NS.mainDocumentURL")
            + Value.optional(.text(longest: .max), "NS.httpMethod")
            + Value.optional(.texts, "NS._allHTTPHeaderFields")
            + Value.optional(.bytes, "NS.httpBody"),
        unnamed: [NSURL.self])

    private static let response =
        Value.required(.object([NSURL.self]), "NS.url")
        + Value.optional(.text(longest: .max), "NS.mimeType", "NS.textEncodingName", "NS.suggestedFilename")
        + Value.optional(.integer(.min ... .max), "NS.expectedContentLength")

    private static let dimension = FoundationNeeds(
        Value.required(.text(longest: .max), "NS.symbol")
            + Value.required(.object(converters), "NS.converter"))

    /// The classes of the converters; the second is not public.
    static let converters: [AnyClass] =
        [UnitConverterLinear.self] + [NSClassFromString("NSUnitConverterReciprocal")].compactMap { $0 }

    private static let dimensions = [
        "Dimension", "UnitAcceleration", "UnitAngle", "UnitArea", "UnitConcentrationMass", "UnitDispersion",
        "UnitDuration", "UnitElectricCharge", "UnitElectricCurrent", "UnitElectricPotentialDifference",
        "UnitElectricResistance", "UnitEnergy", "UnitFrequency", "UnitFuelEfficiency", "UnitIlluminance",
        "UnitInformationStorage", "UnitLength", "UnitMass", "UnitPower", "UnitPressure", "UnitSpeed",
        "UnitTemperature", "UnitVolume",
    ]

    // MARK: Subclasses of classes that the unarchiver makes itself

    /// Where Foundation's code reads other values than the unarchiver, or cannot do without some.
    private static let forSubclasses: [String: FoundationNeeds] = [
        // The keys that trap are hidden from these.
        "Foundation.NSString": FoundationNeeds(),
        "Foundation.NSMutableString": FoundationNeeds(),
        "Foundation.NSData": FoundationNeeds(further: NativeDecoding.noBytes),
        "Foundation.NSMutableData": FoundationNeeds(further: NativeDecoding.noBytes),
        "Foundation.NSNumber": FoundationNeeds(),
        "Foundation.NSArray": FoundationNeeds(further: NativeDecoding.checkedList),
        "Foundation.NSMutableArray": FoundationNeeds(further: NativeDecoding.checkedList),
        "Foundation.NSSet": FoundationNeeds(further: NativeDecoding.checkedSet),
        "Foundation.NSMutableSet": FoundationNeeds(further: NativeDecoding.checkedSet),
        "Foundation.NSCountedSet": FoundationNeeds(further: NativeDecoding.checkedCountedSet),
        "Foundation.NSOrderedSet": FoundationNeeds(further: NativeDecoding.checkedSet),
        "Foundation.NSMutableOrderedSet": FoundationNeeds(further: NativeDecoding.checkedSet),
        "Foundation.NSDictionary": FoundationNeeds(further: NativeDecoding.checkedDictionary),
        "Foundation.NSMutableDictionary": FoundationNeeds(further: NativeDecoding.checkedDictionary),
        "Foundation.NSDecimalNumber": FoundationNeeds(
            Value.optional(.integer(-128...127), "NS.exponent")
                + Value.optional(.integer(0...8), "NS.length")
                + Value.optional(.flag, "NS.negative", "NS.compact")
                + Value.optional(.object([NSData.self]), "NS.mantissa")),
        "Foundation.NSNotification": FoundationNeeds(
            Value.required(.text(longest: .max), "NS.name") + Value.required(.object([NSObject.self]), "NS.object")),
    ]
}
