/// The `NSCoding` classes of the toolchain's Foundation.
enum ClassList {
    /// Those of which the unarchiver makes objects.
    static let made =
        [
            "ByteCountFormatter", "DateFormatter", "DateIntervalFormatter", "Dimension", "EnergyFormatter", "Formatter",
            "ISO8601DateFormatter", "LengthFormatter", "MassFormatter", "NSAffineTransform", "NSArray",
            "NSAttributedString", "NSCalendar", "NSCharacterSet", "NSCountedSet", "NSData", "NSDate",
            "NSDateComponents", "NSDateInterval", "NSDecimalNumber", "NSDecimalNumberHandler", "NSDictionary",
            "NSError",
            "NSIndexPath", "NSIndexSet", "NSLocale", "NSMeasurement", "NSMutableArray", "NSMutableAttributedString",
            "NSMutableCharacterSet", "NSMutableData", "NSMutableDictionary", "NSMutableIndexSet", "NSMutableOrderedSet",
            "NSMutableSet", "NSMutableString", "NSNotification", "NSNull", "NSNumber", "NSOrderedSet",
            "NSPersonNameComponents", "NSRegularExpression", "NSSet", "NSString", "NSTextCheckingResult", "NSTimeZone",
            "NSURL", "NSURLQueryItem", "NSUUID", "NSUnitConverterReciprocal", "NSValue", "NumberFormatter", "Unit",
            "UnitAcceleration", "UnitAngle", "UnitArea", "UnitConcentrationMass", "UnitConverterLinear",
            "UnitDispersion", "UnitDuration", "UnitElectricCharge", "UnitElectricCurrent",
            "UnitElectricPotentialDifference", "UnitElectricResistance", "UnitEnergy", "UnitFrequency",
            "UnitFuelEfficiency", "UnitIlluminance", "UnitInformationStorage", "UnitLength", "UnitMass", "UnitPower",
            "UnitPressure", "UnitSpeed", "UnitTemperature", "UnitVolume",
        ].map { "Foundation.\($0)" } + networking

    private static let networking = [
        "HTTPURLResponse", "NSMutableURLRequest", "NSURLRequest", "URLCredential", "URLResponse",
    ]
    .map { "FoundationNetworking.\($0)" }

    /// Those that are never made: their code always traps, or they are parts of Foundation that no archive names.
    static let refused =
        [
            "DateComponentsFormatter", "MeasurementFormatter", "NSComplexRegularExpressionCheckingResult",
            "NSConcreteValue", "NSExtendedRegularExpressionCheckingResult", "NSOrthography",
            "NSRegularExpressionCheckingResult", "NSSimpleRegularExpressionCheckingResult", "NSSpecialValue",
            "PersonNameComponentsFormatter", "_NSCFArray", "_NSCFCharacterSet", "_NSCFConstantString",
            "_NSCFDictionary", "_NSCFSet", "_NSCFString", "_NSKeyedCoderOldStyleArray", "__NSCFBoolean",
        ].map { "Foundation.\($0)" } + ["FoundationNetworking.StoredCachedURLResponse"]
}
