import ArchiveFixtures
import Foundation
import FoundationCoding
import KeyedArchive
import TestSupport
import Testing

@Suite("Typedstreams opened with classes")
struct TypedStreamUnarchiverTests {
    private typealias Bytes = TypedStreamBytes

    private func unarchiver(_ data: Data, _ classes: [AnyClass]? = []) throws -> NSCodingTypedStreamUnarchiver {
        try NSCodingTypedStreamUnarchiver(forReadingFrom: data, allowing: classes)
    }

    private func error(_ data: Data, _ classes: [AnyClass]? = []) throws -> ArchiveError {
        try #require(throws: ArchiveError.self) {
            try NSCodingTypedStreamUnarchiver.unarchivedObject(ofClasses: classes, from: data)
        }
    }

    private static func sample(_ name: String) throws -> Data {
        let found = TypedStreamSample.known.first { $0.name == name }
        return try #require(found).data
    }

    // MARK: Foundation's classes

    @Test("What consists of Foundation's classes opens with the content that the generic graph has")
    func known() throws {
        var files = TypedStreamSample.known
        if Fixtures.areOfOthers { files += try Fixtures.typedstreams().map { ($0.name, $0.data) } }
        var opened = 0
        for file in files {
            let graph = try TypedStreamGraph(file.data)
            let content = TypedStreamContent(graph: graph)
            guard content.isKnown, !file.name.hasPrefix("cycle"), !file.name.hasPrefix("odd-") else { continue }
            let unarchiver = try unarchiver(file.data, TypedStreamSample.allowed)
            var roots: [String] = []
            while !unarchiver.isAtEnd, unarchiver.error == nil {
                roots.append(CanonicalText.text(unarchiver.decodeObject()))
            }
            #expect(unarchiver.error == nil, "\(file.name)")
            if !["values", "decimals"].contains(file.name) { #expect(roots == content.roots, "\(file.name)") }
            opened += 1
        }
        #expect(opened >= (Fixtures.areOfOthers ? 35 : 9), "\(opened)")
    }

    @Test("A message body is an attributed string with its runs")
    func body() throws {
        let data = try Self.sample("body")
        let body = try #require(
            try NSCodingTypedStreamUnarchiver.unarchivedObject(ofClass: NSMutableAttributedString.self, from: data))
        #expect(body.string == "Hi @Ann, é")
        #expect(
            CanonicalText.text(body) == #"a("Hi @Ann, \u{e9}" 3{"__kIMMessagePartAttributeName":i0} "#
                + #"4{"__kIMMentionConfirmedMention":"ann@example.org","__kIMMessagePartAttributeName":i0} "#
                + #"3{"__kIMMessagePartAttributeName":i0})"#)
        #expect(try error(data, []).code == .classNotAllowed, "it is no property list")
    }

    @Test("A run has the entries of its own dictionary, also where that contains others or was met before")
    func attributes() throws {
        let data = TypedStreamSample.data {
            $0.array(2) {
                $0.group("@")
                let known = $0.object([("NSDictionary", 0), ("NSObject", 0)]) {
                    $0.group("i", [1])
                    $0.string("k")
                    $0.string("v")
                }
                $0.group("@")
                $0.object([("NSAttributedString", 0), ("NSObject", 0)]) {
                    $0.string("abc")
                    $0.group("iI", [1, 1])
                    $0.dictionary(2) {
                        $0.string("x")
                        $0.number("i", [3])
                        $0.string("y")
                        $0.dictionary(1) {
                            $0.string("inner")
                            $0.string("z")
                        }
                    }
                    $0.group("iI", [2, 1])
                    $0.group("@")
                    $0.reference(known)
                    $0.group("iI", [3, 1])
                    $0.dictionary(0) { _ in }
                }
            }
        }
        let root = try NSCodingTypedStreamUnarchiver.unarchivedObject(ofClasses: TypedStreamSample.allowed, from: data)
        let text = try #require((root as? NSArray)?[1] as? NSAttributedString)
        #expect(CanonicalText.text(text) == #"a("abc" 1{"x":i3,"y":{"inner":"z"}} 1{"k":"v"} 1{})"#)
    }

    @Test("Numbers keep their values and kinds, values of C are Foundation's, and other structures keep their fields")
    func valuesInTypedStreamUnarchiver() throws {
        let root = try NSCodingTypedStreamUnarchiver.unarchivedObject(
            ofClasses: [NSArray.self], from: try Self.sample("numbers"))
        let numbers = try #require(root as? NSArray).map { CanonicalText.text($0) }
        #expect(
            numbers == [
                "i1", "i255", "i256", "i65535", "i-110", "i4294967295", "i0", "i0", "i578437695752307201",
                "i18446744073709551613", "d3fe0000000000000", "d4008000000000000",
            ])
        let values = try #require(
            try NSCodingTypedStreamUnarchiver.unarchivedObject(
                ofClasses: TypedStreamSample.allowed, from: try Self.sample("values")) as? NSArray)
        #expect((values[0] as? NSValue)?.pointValue == NSPoint(x: 1, y: 2))
        #expect((values[1] as? NSValue)?.pointValue == NSPoint(x: 1, y: 2))
        #expect((values[2] as? NSValue)?.sizeValue == NSSize(width: 1, height: 2))
        #expect((values[3] as? NSValue)?.rectValue == NSRect(x: 1, y: 2, width: 3, height: 4))
        #expect((values[4] as? NSValue)?.rangeValue == NSRange(location: .max, length: 4))
        let structure = try #require(values[5] as? CodedStructure)
        #expect(structure.type == "{?=i[2s]*}")
        let fields = try #require(structure.value.listValue)
        #expect(fields[0].intValue == 1 && fields[1].listValue?.map(\.intValue) == [2, 3])
        #expect(fields.count == 3 && fields[2].stringValue == nil)
        #expect(values[6] as? NSNumber == 5)
        #expect((values[7] as? CodedStructure)?.type == "[3i]")
        let decimals = try #require(
            try NSCodingTypedStreamUnarchiver.unarchivedObject(
                ofClasses: [NSArray.self, NSDecimalNumber.self], from: try Self.sample("decimals")) as? NSArray)
        #expect((decimals[0] as? NSDecimalNumber)?.stringValue == "-2.55" || decimals[0] as? NSDecimalNumber == -655.35)
        #expect((decimals[1] as? NSDecimalNumber)?.decimalValue.isNaN == true)
    }

    @Test("The order of bytes, the version of the system and the end are known, and roots are decoded one by one")
    func rootsInTypedStreamUnarchiver() throws {
        let data = Data(Bytes.bigEndianFile(Bytes.new("i"), [0x82, 0, 1, 0, 0], Bytes.new("@i"), Bytes.null, [3]))
        let unarchiver = try unarchiver(data)
        #expect(unarchiver.systemVersion == 930 && unarchiver.graph.isBigEndian && unarchiver.nextTypes == "i")
        var number: Int32 = 0
        unarchiver.decodeValue(ofObjCType: "i", at: &number)
        #expect(number == 65_536 && !unarchiver.isAtEnd)
        #expect(unarchiver.nextTypes == "@i")
        let values = try #require(unarchiver.decodeValues("@i"))
        #expect(values[0].objectValue == nil && values[1].intValue == 3)
        #expect(unarchiver.isAtEnd && unarchiver.nextTypes == nil)
        unarchiver.finishDecoding()
        #expect(unarchiver.error == nil)
    }

    // MARK: Classes of the program

    @Test("A class of the documents opens without keys, under its own name or another one")
    func employeeInTypedStreamUnarchiver() throws {
        let data = TypedStreamSample.data { $0.employee() }
        let employee = try #require(
            try NSCodingTypedStreamUnarchiver.unarchivedObject(ofClass: Employee.self, from: data))
        #expect((employee.first, employee.last, employee.number) == ("Ann", "Lee", 7))
        let renamed = TypedStreamSample.data { $0.employee([("Worker", 0), ("NSObject", 0)]) }
        let unknown = try error(renamed, [Employee.self])
        #expect(unknown.code == .classNotAllowed && unknown.description.contains("the class Worker is not known"))
        for way in 0..<2 {
            let unarchiver = try unarchiver(renamed, [Employee.self])
            if way == 0 {
                unarchiver.decodeClassName("Worker", asClassName: "Employee")
                #expect(unarchiver.className(decodedForArchiveClassName: "Worker") == "Employee")
            } else {
                unarchiver.setClass(Employee.self, forClassName: "Worker")
            }
            #expect(unarchiver.decodeObject(of: Employee.self)?.last == "Lee")
        }
    }

    @Test("An object is written into a file and opened from it; a class with keys only says that there are none")
    func filesInTypedStreamUnarchiver() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("employee.ts")
        #expect(NSCodingTypedStreamUnarchiver.unarchiveObject(withFile: path) == nil)
        let employee = Employee(first: "Ann", last: "Lee", number: .min)
        #expect(NSCodingTypedStreamArchiver.archiveRootObject(employee, toFile: path))
        let copy = NSCodingTypedStreamUnarchiver.unarchiveObject(withFile: path) as? Employee
        #expect((copy?.first, copy?.last, copy?.number) == ("Ann", "Lee", .min))
        #expect(!NSCodingTypedStreamArchiver.archiveRootObject(employee, toFile: folder.path("none/employee.ts")))
        let error = #expect(throws: ArchiveError.self) {
            try NSCodingTypedStreamArchiver.archive(
                Person(firstName: "Ann", lastName: "Lee"), to: URL(fileURLWithPath: path))
        }
        #expect(error?.message.contains("have no keys") == true)
        #expect(NSCodingTypedStreamUnarchiver.unarchiveObject(withFile: path) is Employee, "it is left alone")
    }

    @Test("The version of each class of an object is that of the time of writing")
    func versionsInTypedStreamUnarchiver() throws {
        let data = TypedStreamSample.data {
            $0.group("@")
            $0.object([("Versions", 3), ("Base", 7), ("NSObject", 0)]) { _ in }
        }
        let unarchiver = try unarchiver(data, [Versions.self])
        unarchiver.setClass(VersionsBase.self, forClassName: "Base")
        #expect(unarchiver.version(forClassName: "Versions") == NSNotFound)
        let object = try #require(unarchiver.decodeObject(of: Versions.self))
        #expect(object.versions == [3, 7, 7, 0, NSNotFound])
    }

    @Test(
        "A request for another type, values left unread, and values beyond the end are errors that name types and places"
    )
    func types() throws {
        let data = TypedStreamSample.data {
            $0.array(2) {
                $0.employee()
                $0.group("@")
                $0.object([("Confused", 0), ("NSObject", 0)]) {
                    $0.string("text")
                    $0.group("i", [1])
                }
            }
        }
        let mismatch = try error(data, [Employee.self, Confused.self])
        #expect(mismatch.code == .typeMismatch)
        #expect(mismatch.description.contains("$0.$2.$0: expected “i”, found “@”, at byte"), "\(mismatch)")
        #expect(mismatch.description.hasSuffix("of Confused #8"), "\(mismatch)")
        let more = TypedStreamSample.data {
            $0.group("@")
            $0.object([("Employee", 0), ("NSObject", 0)]) {
                $0.string("Ann")
                $0.string("Lee")
                $0.group("iqq", [7, 8, 9])
            }
        }
        let unread = try error(more, [Employee.self])
        #expect(unread.code == .typeMismatch)
        #expect(unread.description.contains("2 values of Employee were not read; “qq” is next"), "\(unread)")
        let less = TypedStreamSample.data {
            $0.group("@")
            $0.object([("Employee", 0), ("NSObject", 0)]) { $0.string("Ann") }
        }
        #expect(try error(less, [Employee.self]).code == .missingKey)
    }

    @Test("The integers and reals of 32-bit programs are read as Int and Double only where that is asked for")
    func wide() throws {
        let data = TypedStreamSample.data {
            $0.group("{_NSRange=II}", [3, 0xFF])
            $0.group("il", [0x81, 0, 0x80, 5])
            $0.group("f", [2])
            $0.group("{_NSRect={_NSPoint=ff}{_NSSize=ff}}", [1, 2, 3, 4])
        }
        let strict = try unarchiver(data)
        var range = NSRange()
        strict.decodeValue(ofObjCType: "{_NSRange=QQ}", at: &range)
        let error = try #require(strict.error as? ArchiveError)
        #expect(error.description.hasPrefix("$0: expected “{_NSRange=QQ}”, found “{_NSRange=II}”, at byte"))
        let wide = try unarchiver(data)
        wide.accepts32BitTypes = true
        wide.decodeValue(ofObjCType: "{_NSRange=QQ}", at: &range)
        #expect(range == NSRange(location: 3, length: Int(UInt32.max)))
        #expect(wide.decodeValues("qq")?.map(\.intValue) == [-32768, 5])
        #expect(wide.decodeValues("d")?.map(\.realValue) == [2])
        wide.accepts32BitTypes = false
        #expect(wide.decodeStoredRect() == NSRect(x: 1, y: 2, width: 3, height: 4))
        #expect(wide.error == nil && wide.isAtEnd)
    }

    @Test("Memory of all types is filled, and strings keep their identity")
    func memoryInTypedStreamUnarchiver() throws {
        let data = TypedStreamSample.data {
            $0.group("{s=c[2S]d!}", [0x84, 1, 2, 3])
            $0.group("**")
            $0.cString("one")
            $0.cString("one")
            $0.group(":%")
            $0.shared("set:")
            $0.shared("set:")
            $0.group(":", Bytes.null)
            $0.group("#")
            $0.type([("NSString", 1), ("NSObject", 0)])
            $0.group("[5c]", [1, 2, 3, 4, 0x80])
            $0.group("[2[2i]]", [1, 2, 3, 4])
            $0.group("+", [2, 0x41, 0xFF])
        }
        let unarchiver = try unarchiver(data)
        struct Fields { var a: Int8 = 0, b: (UInt16, UInt16) = (0, 0), c = 0.0, d: Int32 = 9 }
        var fields = Fields()
        unarchiver.decodeValue(ofObjCType: "{s=c[2S]d!}", at: &fields)
        #expect((fields.a, fields.b.0, fields.b.1, fields.c, fields.d) == (-124, 1, 2, 3, 9))
        var strings: [UnsafePointer<CChar>?] = [nil, nil, nil]
        unarchiver.decodeValue(ofObjCType: "*", at: &strings[0])
        unarchiver.decodeValue(ofObjCType: "*", at: &strings[1])
        #expect(strings[0] == strings[1] && strings[0].map { String(cString: $0) } == "one")
        for (index, type) in [":", "%", ":"].enumerated() {
            unarchiver.decodeValue(ofObjCType: type, at: &strings[index])
        }
        #expect(strings[0] == strings[1] && strings[0].map { String(cString: $0) } == "set:" && strings[2] == nil)
        var type: AnyClass?
        unarchiver.decodeValue(ofObjCType: "#", at: &type)
        #expect(type == NSString.self)
        var bytes: [UInt8] = [0, 0, 0, 0, 0]
        unarchiver.decodeArray(ofObjCType: "c", count: 5, at: &bytes)
        #expect(bytes == [1, 2, 3, 4, 0x80])
        var numbers: [Int32] = [0, 0, 0, 0]
        unarchiver.decodeArray(ofObjCType: "[2i]", count: 2, at: &numbers)
        #expect(numbers == [1, 2, 3, 4])
        #expect(unarchiver.decodeBytes() == Data([0x41, 0xFF]))
        #expect(unarchiver.error == nil && unarchiver.isAtEnd)
    }

    @Test("An old property list opens; what is cut or too deep does not")
    func propertyListInTypedStreamUnarchiver() throws {
        let string: [UInt8] = [6, 0, 0, 0, 4, 0, 0, 0, 0xFE, 0xFF, 0, 0x61]
        let next: [UInt8] = [5, 0, 0, 0, 2, 0, 0, 0, 0x68, 0xE9, 0, 0]
        let array: [UInt8] = [2, 0, 0, 0, 2, 0, 0, 0, 12, 0, 0, 0, 12, 0, 0, 0] + string + next
        let list =
            [7, 0, 0, 0, 1, 0, 0, 0] + string + [UInt8(array.count), 0, 0, 0] + array
        func open(_ list: [UInt8]) throws -> (Any?, (any Error)?) {
            let unarchiver = try unarchiver(
                TypedStreamSample.data {
                    $0.group("i", Bytes.number(list.count))
                    $0.group("[\(list.count)c]", list)
                })
            return (unarchiver.decodePropertyList(), unarchiver.error)
        }
        #expect(CanonicalText.text(try open(list).0) == #"{"a":["a","h\u{d8}"]}"#)
        for end in list.indices { #expect(try open(Array(list[..<end])).1 != nil, "\(end)") }
        var deep: [UInt8] = [8, 0, 0, 0]
        for _ in 0..<100 {
            deep = [2, 0, 0, 0, 1, 0, 0, 0] + (0..<4).map { UInt8(deep.count >> (8 * $0) & 0xFF) } + deep
        }
        #expect((try open(deep).1 as? ArchiveError)?.code == .limit)
    }
}

/// Asks for the versions of its classes.
class VersionsBase: NSObject, NSCoding {
    private(set) var versions: [Int] = []

    required init?(coder: NSCoder) {
        versions = ["Versions", "Base", "VersionsBase", "NSObject", "Employee"].map { coder.version(forClassName: $0) }
    }

    func encode(with coder: NSCoder) {}
}

final class Versions: VersionsBase {}
