import Foundation
import FoundationCoding
import KeyedArchive
import Testing

@Suite("Objects that hold Foundation's values open in the same way for both kinds of classes")
struct StoredFormTests {
    private typealias Fields = [(key: String, value: ArchivedValue)]

    /// Expects that the object is read as a Swift value, and as an object of Foundation.
    private func expect<T: Decodable & Equatable>(
        _ value: T, _ object: NSObject, _ type: AnyClass, from name: String, _ fields: Fields
    ) throws {
        var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
        let index = graph.add(className: name, fields: fields)
        graph.setRoot(.reference(index), forKey: "root")
        for format in [ArchiveFormat.binary, .xml] {
            let bytes = try graph.bytes(format: format)
            #expect(try KeyedUnarchiver.unarchive(T.self, from: bytes) == value, "\(name) \(fields)")
            let unarchiver = try NSCodingUnarchiver(forReadingFrom: Data(bytes))
            let found = unarchiver.decodeObject(of: [type], forKey: "root") as? NSObject
            #expect(found == object, "\(name) \(fields): \(unarchiver.error.map { "\($0)" } ?? "")")
        }
    }

    private func data(_ text: String) -> ArchivedValue { .data(Data(text.utf8)) }

    @Test("Strings are stored as a string or as UTF-8")
    func stringsInStoredForm() throws {
        for name in ["NSString", "NSMutableString"] {
            for (fields, text) in [
                ([("NS.string", .string("é"))], "é"), ([("NS.bytes", data("é"))], "é"),
                ([("NS.string", data("x"))], "x"),
                ([("NS.bytes", .string("x"))], "x"), ([("NS.bytes", data("$null"))], "$null"),
                ([("NS.string", .string("$null"))], "$null"), ([("NS.string", .reference(0))], ""),
                ([("NS.string", .string("a")), ("NS.bytes", data("b"))], "a"),
                ([("NS.bytes", .data(Data([0x61, 0xFF])))], "a\u{FFFD}"),
            ] as [(Fields, String)] {
                try expect(text, text as NSString, NSString.self, from: name, fields)
            }
        }
    }

    @Test("A text that looks like nil passes from each archiver to each unarchiver")
    func nullText() throws {
        for text in ["$null", "", "null"] {
            let swift: Data = try {
                let archiver = KeyedArchiver()
                try archiver.encode(text, forKey: "root")
                return Data(try ArchivedGraph(archiver.finish() as [UInt8]).bytes(format: .binary))
            }()
            let foundation = try NSCodingArchiver.archivedData(withRootObject: text as NSString)
            for bytes in [swift, foundation] {
                #expect(try KeyedUnarchiver.unarchive(String.self, from: Array(bytes)) == text)
                let unarchiver = try NSCodingUnarchiver(forReadingFrom: bytes)
                #expect(unarchiver.decodeObject(of: [NSString.self], forKey: "root") as? String == text)
            }
        }
    }

    @Test("Data, dates and UUIDs")
    func othersInStoredForm() throws {
        let bytes = Data([1, 2, 0])
        for key in ["NS.data", "NS.bytes"] {
            try expect(bytes, bytes as NSData, NSData.self, from: "NSMutableData", [(key, .data(bytes))])
        }
        let date = Date(timeIntervalSinceReferenceDate: 5)
        for name in ["NSDate", "NSCalendarDate"] {
            for time in [ArchivedValue.double(bits: 5.0.bitPattern), .integer(5), .float(bits: Float(5).bitPattern)] {
                try expect(date, date as NSDate, NSDate.self, from: name, [("NS.time", time)])
            }
        }
        let uuid = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
        let id: Fields = [("NS.uuidbytes", .data(Data(1...16)))]
        try expect(uuid, uuid as NSUUID, NSUUID.self, from: "NSUUID", id)
        let url = try #require(URL(string: "https://example.org/a"))
        let link: Fields = [("NS.base", .reference(0)), ("NS.relative", .string(url.absoluteString))]
        try expect(url, url as NSURL, NSURL.self, from: "NSURL", link)
    }

    @Test("Numbers that are objects with fields")
    func numbersInStoredForm() throws {
        for (key, value) in [
            ("NS.number", ArchivedValue.integer(7)), ("NS.intval", .integer(7)),
            ("NS.dblval", .double(bits: 7.0.bitPattern)),
        ] {
            try expect(7, 7 as NSNumber, NSNumber.self, from: "NSNumber", [(key, value)])
        }
        try expect(true, true as NSNumber, NSNumber.self, from: "NSNumber", [("NS.boolval", .bool(true))])
    }

    private func decimal(_ mantissa: [UInt8], _ fields: Fields) -> Fields {
        [("NS.exponent", .integer(-2)), ("NS.mantissa", .data(Data(mantissa)))] + fields
    }

    @Test("Decimals are stored as digits in either order of bytes, or as text")
    func decimalsInStoredForm() throws {
        let value = try #require(Decimal(string: "-2.59"))
        let little: [UInt8] = [3, 1] + Array(repeating: 0, count: 14)
        let big: [UInt8] = [1, 3] + Array(repeating: 0, count: 14)
        let isNegative: Fields = [("NS.negative", .bool(true))]
        let rubbish = Array(repeating: UInt8(0xFF), count: 14)
        for fields in [
            decimal(little, isNegative), decimal(little, isNegative + [("NS.length", .integer(1))]),
            decimal(big, isNegative + [("NS.mantissa.bo", .integer(2))]),
            decimal([3, 1] + rubbish, isNegative + [("NS.length", .integer(1))]), decimal([3, 1], isNegative),
            [("NS.string", .string("-2.59"))],
        ] {
            try expect(
                value, NSDecimalNumber(decimal: value), NSDecimalNumber.self, from: "NSDecimalNumber", fields)
        }
        for fields in [
            decimal(little + [0, 0], []), decimal([1], []), decimal(little, [("NS.length", .integer(9))]),
            decimal(little, [("NS.length", .integer(-1))]),
        ] {
            var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
            graph.setRoot(.reference(graph.add(className: "NSDecimalNumber", fields: fields)), forKey: "root")
            let bytes = try graph.bytes(format: .binary)
            #expect(throws: ArchiveError.self) { try KeyedUnarchiver.unarchive(Decimal.self, from: bytes) }
            let unarchiver = try NSCodingUnarchiver(forReadingFrom: Data(bytes))
            #expect(unarchiver.decodeObject(of: [NSDecimalNumber.self], forKey: "root") == nil)
            #expect(unarchiver.error != nil)
        }
    }
}
