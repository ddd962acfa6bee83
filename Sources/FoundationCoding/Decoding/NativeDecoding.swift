import Foundation
import KeyedArchive

/// Foundation classes that the unarchiver makes itself, or checks before they decode themselves.
///
/// Their own `init(coder:)` traps on unexpected input.
enum NativeDecoding {
    /// Makes an object from a record; the object's frame is the unarchiver's innermost.
    typealias Maker = @Sendable (NSCodingUnarchiver, ArchivedRecord, Int) throws -> NSObject

    /// The maker of exactly this class; nil if the class decodes itself.
    static func maker(of type: AnyClass) -> Maker? { makers[ObjectIdentifier(type)] }

    /// Foundation classes by their names in archives.
    static let classes: [String: AnyClass] = {
        var classes: [String: AnyClass] = [:]
        for type: AnyClass in known { classes[ClassNames.name(of: type)] = type }
        for entry in otherNames { classes[entry.key] = entry.value }
        return classes
    }()

    private static let makers: [ObjectIdentifier: Maker] = {
        var makers: [ObjectIdentifier: Maker] = [:]
        for entry in collections + values + texts + times { makers[ObjectIdentifier(entry.0)] = entry.1 }
        return makers
    }()

    /// All classes that may be made although the program does not name them.
    private static let known: [AnyClass] =
        (collections + values + texts + times).map(\.0) + selfMade

    /// Classes that make themselves, after their needs were checked.
    private static let selfMade: [AnyClass] =
        FoundationNeeds.converters + [
            NSPersonNameComponents.self, NSMeasurement.self, ISO8601DateFormatter.self, ByteCountFormatter.self,
            DateIntervalFormatter.self,
            UnitAcceleration.self, UnitAngle.self, UnitArea.self, UnitConcentrationMass.self, UnitDispersion.self,
            UnitDuration.self, UnitElectricCharge.self, UnitElectricCurrent.self,
            UnitElectricPotentialDifference.self, UnitElectricResistance.self, UnitEnergy.self, UnitFrequency.self,
            UnitFuelEfficiency.self, UnitIlluminance.self, UnitInformationStorage.self, UnitLength.self,
            UnitMass.self, UnitPower.self, UnitPressure.self, UnitSpeed.self, UnitVolume.self, UnitTemperature.self,
            Unit.self,
        ]

    /// Names under which other archivers store Foundation classes.
    private static let otherNames: [String: AnyClass] = [
        "NSUnitConcentrationMass": UnitConcentrationMass.self,
        "GSNotification": NSNotification.self,
        "NSCalendarDate": NSDate.self,
        "NSSimpleRegularExpressionCheckingResult": NSTextCheckingResult.self,
        "NSExtendedRegularExpressionCheckingResult": NSTextCheckingResult.self,
        "NSComplexRegularExpressionCheckingResult": NSTextCheckingResult.self,
        "NSRegularExpressionCheckingResult": NSTextCheckingResult.self,
    ]

    // MARK: Before a class makes itself

    /// Whether a class is a Foundation collection, string or data, or a subclass.
    static func isCollection(_ type: AnyClass) -> Bool {
        ancestors(of: type).contains { type in
            type == NSArray.self || type == NSSet.self || type == NSDictionary.self || type == NSOrderedSet.self
                || type == NSString.self || type == NSData.self || type == NSNumber.self
        }
    }

    /// Whether an object is a Foundation collection.
    static func isCollection(_ object: NSObject) -> Bool {
        object is NSArray || object is NSSet || object is NSDictionary || object is NSOrderedSet
    }

    private static func ancestors(of type: AnyClass) -> [AnyClass] {
        var result: [AnyClass] = []
        var current: AnyClass? = type
        while let type = current {
            result.append(type)
            current = ClassNames.superclass(of: type)
        }
        return result
    }

    /// The value of a number that is stored as an object with keys; nil for other objects.
    static func plainNumber(_ record: ArchivedRecord) -> ArchivedValue? {
        guard record.typeName == "NSNumber" else { return nil }
        return record.first(of: StoredForm.number)
    }
}

extension NSCodingUnarchiver {
    /// A string of the object being decoded; nil if there is none.
    func text(_ key: String, longest: Int = .max) throws -> String? {
        let text = decodeObject(of: NSString.self, forKey: key) as String?
        if let failure { throw failure }
        if let text, text.utf8.count > longest {
            throw ArchiveError(.limit, "a \(key) of more than \(longest) bytes")
        }
        return text
    }

    /// A string of the object being decoded, by key or, as in some archives of GNUstep, the next in order.
    func text(_ key: String, orNext: Bool, longest: Int = .max) throws -> String {
        if let text = try text(key, longest: longest) { return text }
        guard orNext, frames[frames.count - 1].value(forStoredKey: "$0") != nil,
            let text = try object(try nextValue("@"), of: [NSString.self]) as? NSString
        else { throw ArchiveError(.missingKey, "there is no \(key)") }
        return text as String
    }

    /// An integer of the object being decoded, within bounds; 0 if there is none.
    func whole(_ key: String, in bounds: ClosedRange<Int>) throws -> Int {
        let value = decodeInteger(forKey: key)
        if let failure { throw failure }
        guard bounds.contains(value) else { throw ArchiveError(.outOfRange, "\(key) out of range") }
        return value
    }

    func real(_ key: String) throws -> Double {
        let value = decodeDouble(forKey: key)
        if let failure { throw failure }
        return value
    }

    func object<T: NSObject & NSCoding>(_ type: T.Type, _ key: String) throws -> T? {
        let object = decodeObject(of: type, forKey: key)
        if let failure { throw failure }
        return object
    }
}
