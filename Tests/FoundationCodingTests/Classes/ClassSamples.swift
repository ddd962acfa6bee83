import Foundation
import FoundationCoding
import FoundationNetworking
import KeyedArchive

/// An object of one of Foundation's classes as an archive holds it.
struct ClassSample {
    /// The full name of the class.
    let type: String
    /// A graph that contains the object and what it refers to.
    let graph: ArchivedGraph
    let index: Int

    var keys: [String] { graph.objects[index].record?.storedKeys ?? [] }
}

/// Samples of all classes that can be made.
enum ClassSamples {
    static func all() throws -> [ClassSample] {
        try (FoundationClassTests.values() + others()).compactMap(sample) + plain()
    }

    /// The sample of an object; nil for what archives hold as a plain value.
    private static func sample(of object: NSObject) throws -> ClassSample? {
        let archiver = NSCodingArchiver()
        archiver.encode(object, forKey: NSCodingArchiver.rootKey)
        let graph = try archiver.graph()
        guard case .reference(let index)? = graph.roots["root"], let record = graph.objects[index].record,
            let type = NSClassFromString(record.typeName)
        else { return nil }
        // Its concrete classes are not public.
        let name =
            object is NSTextCheckingResult ? "Foundation.NSTextCheckingResult" : String(reflecting: type as Any.Type)
        return ClassSample(type: name, graph: graph, index: index)
    }

    private static func others() -> [NSObject] {
        let iso = ISO8601DateFormatter()
        iso.timeZone = TimeZone(identifier: "Asia/Tokyo")
        let interval = DateIntervalFormatter()
        interval.locale = Locale(identifier: "de_CH")
        interval.dateTemplate = "yMd"
        let expression = try? NSRegularExpression(pattern: "(a)(x)?(b)")
        let start = Date(timeIntervalSinceReferenceDate: 5)
        let matches = expression?.matches(in: "ab", range: NSRange(location: 0, length: 2)) ?? []
        var request = URLRequest(url: fixedURL)
        request.setValue("v", forHTTPHeaderField: "F")
        request.httpBody = Data([1])
        request.mainDocumentURL = fixedURL
        let response = HTTPURLResponse(
            url: fixedURL, statusCode: 200, httpVersion: nil,
            headerFields: ["Content-Type": "text/plain; charset=utf-8", "Content-Length": "3"])
        var isDaylight = DateComponents(calendar: Calendar(identifier: .gregorian), year: 1)
        isDaylight.isLeapMonth = true
        return matches
            + [
                NSCountedSet(array: ["a", "b", "a"]), iso, interval, ByteCountFormatter(), Formatter(), DateFormatter(),
                NumberFormatter(), LengthFormatter(), MassFormatter(), EnergyFormatter(),
                NSDateInterval(start: start, end: start.addingTimeInterval(2)),
                NSNotification(name: Notification.Name("n"), object: "o" as NSString, userInfo: ["k": 1]),
                NSMutableCharacterSet(range: NSRange(location: 48, length: 10)),
                NSDecimalNumberHandler(
                    roundingMode: .up, scale: 2, raiseOnExactness: true, raiseOnOverflow: true, raiseOnUnderflow: true,
                    raiseOnDivideByZero: true),
                NSURLRequest(url: fixedURL), (request as NSURLRequest).mutableCopy() as? NSObject,
                URLResponse(url: fixedURL, mimeType: "a/b", expectedContentLength: 3, textEncodingName: "utf-8"),
                response,
                URLCredential(user: "u", password: "p", persistence: .forSession), isDaylight as NSDateComponents,
                Dimension(symbol: "d", converter: UnitConverterLinear(coefficient: 2, constant: 1)),
                UnitConverterLinear(coefficient: 2, constant: 1), UnitFuelEfficiency.milesPerGallon.converter,
            ].compactMap(\.self) + dimensions
    }

    private static var fixedURL: URL { URL(fileURLWithPath: "/tmp/a") }

    private static var dimensions: [NSObject] {
        [
            UnitAcceleration.gravity, UnitAngle.degrees, UnitArea.acres, UnitConcentrationMass.gramsPerLiter,
            UnitDispersion.partsPerMillion, UnitDuration.hours, UnitElectricCharge.coulombs,
            UnitElectricCurrent.amperes, UnitElectricPotentialDifference.volts, UnitElectricResistance.ohms,
            UnitEnergy.joules, UnitFrequency.hertz, UnitIlluminance.lux, UnitInformationStorage.bytes,
            UnitLength.miles, UnitMass.grams, UnitPower.watts, UnitPressure.bars, UnitVolume.cups,
        ]
    }

    /// Records of what archives usually hold as a plain value.
    private static func plain() throws -> [ClassSample] {
        let contents: [(String, [(key: String, value: ArchivedValue)])] = [
            ("NSString", [("NS.string", .string("x"))]), ("NSString", [("NS.bytes", .data(Data("x".utf8)))]),
            ("NSData", [("NS.data", .data(Data([1, 2])))]), ("NSData", [("NS.bytes", .data(Data([1, 2])))]),
            ("NSNumber", [("NS.number", .integer(7))]), ("NSNumber", [("NS.intval", .integer(7))]),
            ("NSNumber", [("NS.boolval", .bool(true))]), ("NSNumber", [("NS.dblval", .double(bits: 0))]),
        ]
        return contents.map { name, fields in
            var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
            let index = graph.add(className: name, fields: fields)
            return ClassSample(type: "Foundation.\(name)", graph: graph, index: index)
        }
    }

    /// What the class is read from that is in no sample, of classes that are refused or have other forms.
    static let furtherKeys: [String: [String]] = [
        "Foundation._NSKeyedCoderOldStyleArray": ["NS.count", "NS.size", "NS.type", "$0"],
        "Foundation.NSConcreteValue": ["$0", "$1"],
        "Foundation.NSSpecialValue": ["NS.special", "NS.pointval", "NS.rangeval.location"],
        "Foundation.NSValue": ["NS.special", "$0", "$1"],
        "Foundation.NSAffineTransform": ["$0", "NSTransformDoubles", "NSTransformStruct"],
        "Foundation.NSCharacterSet": [
            "NSBuiltinID", "NSBuiltinID2", "NSRange", "NSBitmapObject", "NSBitmap", "NSStringObject", "NSString",
            "NSIsInverted",
        ],
        "Foundation.NSCountedSet": ["NS.count", "NS.object0", "NS.count0", "NS.objects", "$0"],
        "Foundation.NSDecimalNumber": ["NS.string", "NS.length", "NS.exponent", "NS.mantissa", "NS.mantissa.bo"],
        "Foundation.NSNotification": ["NS.object", "NS.userinfo", "$0"],
        "Foundation.NSCalendar": ["NS.gstartdate", "NS.firstwkdy", "NS.mindays"],
        "FoundationNetworking.StoredCachedURLResponse": ["response", "data", "storagePolicy", "date", "userInfo"],
        "Foundation.NSRegularExpressionCheckingResult": ["NSRegularExpression", "NSRangeArray"],
    ]
}
