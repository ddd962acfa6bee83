import ArchiveFixtures
import Foundation
import FoundationCoding
import KeyedArchive
import PortTransport
import TestSupport
import Testing

@Suite("Typedstreams written with classes")
struct TypedStreamArchiverTests {
    // MARK: The same bytes

    @Test("What was opened with Foundation's classes is written again as the same bytes")
    func rewrittenInTypedStreamArchiver() throws {
        var files = TypedStreamSample.known
        if Fixtures.areOfOthers { files += try Fixtures.typedstreams().map { ($0.name, $0.data) } }
        var count = 0
        for file in files {
            let content = TypedStreamContent(graph: try TypedStreamGraph(file.data))
            guard content.isKnown, !file.name.hasPrefix("odd-") else { continue }
            let unarchiver = try NSCodingTypedStreamUnarchiver(forReadingFrom: file.data)
            var roots: [Any?] = []
            while !unarchiver.isAtEnd, unarchiver.error == nil { roots.append(unarchiver.decodeObject()) }
            #expect(unarchiver.error == nil, "\(file.name)")
            for isRoot in [false, true] {
                let archiver = NSCodingTypedStreamArchiver(rewriting: unarchiver)
                for root in roots {
                    if isRoot, let root { archiver.encodeRootObject(root) } else { archiver.encode(root) }
                }
                #expect(try archiver.data() == file.data, "\(file.name)")
            }
            count += 1
        }
        #expect(count >= (Fixtures.areOfOthers ? 35 : 9), "\(count)")
    }

    @Test(
        "Files with other classes, of which none refers back, are written again as the same bytes by a class that keeps all",
        .enabled(if: Fixtures.areOfOthers))
    func otherClassesInTypedStreamArchiver() throws {
        var names: [String] = []
        for file in try Fixtures.typedstreams() {
            let unarchiver = try NSCodingTypedStreamUnarchiver(forReadingFrom: file.data)
            for case .type(let type) in unarchiver.graph.labels where !Self.isKnown(type.name.description) {
                unarchiver.setClass(Anything.self, forClassName: type.name.description)
            }
            // Those with numbers in other forms than archivers use, and with classes as values.
            if ["odd-", "scalars", "selectors"].contains(where: { file.name.hasPrefix($0) }) { continue }
            let archiver = NSCodingTypedStreamArchiver(rewriting: unarchiver)
            while let types = unarchiver.nextTypes, let values = unarchiver.decodeValues(types) {
                archiver.encodeValues(types, values)
            }
            if let error = unarchiver.error as? ArchiveError, [.cycle, .limit].contains(error.code) { continue }
            #expect(unarchiver.error == nil, "\(file.name)")
            #expect(try archiver.data() == file.data, "\(file.name)")
            names.append(file.name)
        }
        #expect(names.count >= 55, "\(names.count)")
    }

    private static func isKnown(_ name: String) -> Bool {
        ["NSString", "NSData", "NSArray", "NSSet", "NSDictionary", "NSAttributedString"].contains {
            name == $0 || name == "NSMutable" + $0.dropFirst(2)
        }
            || ["NSDate", "NSCalendarDate", "NSTimeZone", "NSURL", "NSDecimalNumberPlaceholder", "NSObject"].contains(
                name)
    }

    @Test("New objects of Foundation and of the program are written as NSArchiver does")
    func fresh() throws {
        func expect(_ root: NSObject, _ content: (inout TypedStreamSample) -> Void) throws {
            let data = try NSCodingTypedStreamArchiver.archivedData(withRootObject: root)
            #expect(data == TypedStreamSample.data(content))
        }
        try expect(NSString(string: "é🎉")) { $0.string("é🎉") }
        try expect(NSMutableString(string: "")) { $0.string("", isMutable: true) }
        let text = NSString(string: "a")
        try expect(NSMutableArray(array: [text, NSNumber(value: true), NSNumber(value: 1.5), text])) {
            $0.array(4, isMutable: true) {
                let label = $0.string("a")
                $0.number("c", [1])
                $0.number("d", [0x83, 0, 0, 0, 0, 0, 0, 0xF8, 0x3F])
                $0.group("@")
                $0.reference(label)
            }
        }
        try expect(NSNumber(value: UInt64.max)) { $0.number("Q", [0xFF]) }
        try expect(NSNumber(value: Int.max)) { $0.number("q", [0x87] + [UInt8](repeating: 0xFF, count: 7) + [0x7F]) }
        try expect(NSValue(rect: NSRect(x: 1, y: 2, width: 3, height: 4))) {
            $0.value("{CGRect={CGPoint=dd}{CGSize=dd}}", [1, 2, 3, 4])
        }
        try expect(NSValue(range: NSRange(location: 3, length: 4))) { $0.value("{_NSRange=QQ}", [3, 4]) }
        let body = NSMutableAttributedString(string: "Hi @Ann, é")
        let part = NSAttributedString.Key("__kIMMessagePartAttributeName")
        body.addAttribute(part, value: NSNumber(value: Int32(0)), range: NSRange(location: 0, length: 3))
        try expect(body) {
            $0.group("@")
            $0.object([("NSMutableAttributedString", 0), ("NSAttributedString", 0), ("NSObject", 0)]) {
                $0.string("Hi @Ann, é", isMutable: true)
                $0.group("iI", [1, 3])
                $0.dictionary(1) {
                    $0.string(part.rawValue)
                    $0.number("i", [0])
                }
                $0.group("iI", [2, 7])
                $0.dictionary(0) { _ in }
            }
        }
        let archiver = NSCodingTypedStreamArchiver()
        archiver.encodeClassName("FoundationCodingTests.Employee", intoClassName: "Employee")
        #expect(archiver.classNameEncoded(forTrueClassName: "FoundationCodingTests.Employee") == "Employee")
        archiver.encodeRootObject(Employee(first: "Ann", last: "Lee", number: 7))
        #expect(try archiver.data() == TypedStreamSample.data { $0.employee() })
        let named = NSCodingTypedStreamArchiver()
        named.setClassName("Employee", for: Employee.self)
        named.encode(Employee(first: "Ann", last: "Lee", number: 7))
        #expect(try named.data() == TypedStreamSample.data { $0.employee() })
    }

    @Test("An object that changed is written as it is, with what is left of its order")
    func changedInTypedStreamArchiver() throws {
        let samples = Dictionary(uniqueKeysWithValues: TypedStreamSample.known.map { ($0.name, $0.data) })
        let opened = try NSCodingTypedStreamUnarchiver(forReadingFrom: try #require(samples["body"]))
        let body = try #require(opened.decodeObject(of: NSMutableAttributedString.self))
        body.append(NSAttributedString(string: "!", attributes: [NSAttributedString.Key("new"): "x"]))
        let archiver = NSCodingTypedStreamArchiver(rewriting: opened)
        archiver.encode(body)
        let again = try NSCodingTypedStreamUnarchiver.unarchivedObject(
            ofClass: NSMutableAttributedString.self, from: try archiver.data())
        #expect(CanonicalText.text(again) == CanonicalText.text(body))
        #expect(again?.string == "Hi @Ann, é!")
        let collections = try NSCodingTypedStreamUnarchiver(forReadingFrom: try #require(samples["collections"]))
        let array = try #require(collections.decodeObject(of: NSMutableArray.self))
        let dictionary = try #require(RawObjects.elements(array)[1] as? NSMutableDictionary)
        dictionary["new"] = "value"
        dictionary["b"] = nil
        let other = NSCodingTypedStreamArchiver(rewriting: collections)
        other.encode(array)
        let graph = try TypedStreamGraph(try other.data())
        let texts = TypedStreamTexts.strings(graph)
        let kept = texts.filter { ["zz", "b", "c", "new"].contains($0) }
        #expect(kept == ["zz", "c", "new"])
    }

    // MARK: Calls

    @Test("Each call without keys has its counterpart", arguments: [false, true])
    func callsInTypedStreamArchiver(isBigEndian: Bool) throws {
        let archiver = NSCodingTypedStreamArchiver(isBigEndian: isBigEndian, systemVersion: 930)
        #expect(!archiver.allowsKeyedCoding && archiver.systemVersion == 930)
        var number = Int16(-300)
        archiver.encodeValue(ofObjCType: "s", at: &number)
        var numbers: [Double] = [1, 0.5, -0.0]
        archiver.encodeArray(ofObjCType: "d", count: 3, at: &numbers)
        archiver.encodeValues(
            "iI[2C]{P=f@}:%*Q#B!++",
            [
                -1, 0xFFFF_FFFF, .list([1, 255]), .list([.float(2), .object("o")]), .string("set:"), .string("set:"),
                .string("c"), .unsigned(.max), .type(NSString.self), .bool(true), .nothing,
                .bytes(Data("é".utf8)), .bytes(nil),
            ])
        let bytes: [UInt8] = [1, 2, 0xFF]
        archiver.encodeBytes(bytes, length: 3)
        archiver.encodeBytes(nil, length: 0)
        archiver.encode(Data(bytes))
        archiver.encodePropertyList(["k": ["é", Data([7])], "l": [:] as NSDictionary] as NSDictionary)
        archiver.encodeBycopyObject("by copy")
        archiver.encodeByrefObject(nil)
        archiver.encodeStored(NSPoint(x: 1, y: 2))
        archiver.encodeStored(NSSize(width: 1, height: 2.5), as32Bit: true)
        archiver.encodeStored(NSRect(x: 1, y: 2, width: 3, height: 4), as32Bit: true)
        let text = "pointer"
        text.withCString { pointer in
            var pointer: UnsafePointer<CChar>? = pointer
            archiver.encodeValue(ofObjCType: "*", at: &pointer)
            archiver.encodeValue(ofObjCType: "*", at: &pointer)
        }
        let data = try archiver.data()

        let unarchiver = try NSCodingTypedStreamUnarchiver(forReadingFrom: data, allowing: [])
        #expect(unarchiver.graph.isBigEndian == isBigEndian && unarchiver.systemVersion == 930)
        #expect(try unarchiver.graph.bytes() == Array(data))
        number = 0
        unarchiver.decodeValue(ofObjCType: "s", at: &number)
        #expect(number == -300)
        numbers = [9, 9, 9]
        unarchiver.decodeArray(ofObjCType: "d", count: 3, at: &numbers)
        #expect(numbers == [1, 0.5, 0] && numbers[2].sign == .minus)
        let values = try #require(unarchiver.decodeValues("iI[2C]{P=f@}:%*Q#B!++"))
        #expect(values[0].intValue == -1 && values[1].intValue == 0xFFFF_FFFF)
        #expect(values[2].bytesValue == Data([1, 255]))
        #expect(values[11].bytesValue == Data("é".utf8) && values[12].bytesValue == nil)
        #expect(values[3].listValue?[0].realValue == 2 && values[3].listValue?[1].objectValue as? String == "o")
        #expect(values[4...6].map(\.stringValue) == ["set:", "set:", "c"])
        if case .unsigned(.max) = values[7], case .type(let type) = values[8], case .bool(true) = values[9] {
            #expect(type == NSString.self)
        } else {
            Issue.record("\(values)")
        }
        #expect(unarchiver.decodeBytes() == Data(bytes))
        #expect(unarchiver.decodeData() == Data())
        #expect(unarchiver.decodeData() == Data(bytes))
        #expect(CanonicalText.text(unarchiver.decodePropertyList()) == #"{"k":["\u{e9}",<07>],"l":{}}"#)
        #expect(unarchiver.decodeObject() as? String == "by copy")
        #expect(unarchiver.decodeObject() == nil)
        #expect(unarchiver.decodeStoredPoint() == NSPoint(x: 1, y: 2))
        #expect(unarchiver.decodeStoredSize() == NSSize(width: 1, height: 2.5))
        #expect(unarchiver.decodeStoredRect() == NSRect(x: 1, y: 2, width: 3, height: 4))
        var pointers: [UnsafePointer<CChar>?] = [nil, nil]
        unarchiver.decodeValue(ofObjCType: "*", at: &pointers[0])
        unarchiver.decodeValue(ofObjCType: "*", at: &pointers[1])
        #expect(pointers[0] == pointers[1] && pointers[0].map { String(cString: $0) } == text)
        unarchiver.finishDecoding()
        #expect(unarchiver.error == nil)
    }

    @Test("A conditional object is written if something else encodes it, wherever that is")
    func conditional() throws {
        let shared = Employee(first: "Ann", last: "Lee", number: 7)
        for (content, isFound) in [(shared as NSObject, true), (NSString(string: "x"), false)] {
            let root = Condition(conditional: shared, plain: content)
            let data = try NSCodingTypedStreamArchiver.archivedData(withRootObject: root)
            let copy = try #require(
                try NSCodingTypedStreamUnarchiver.unarchivedObject(
                    ofClasses: [Condition.self, Employee.self], from: data) as? Condition)
            #expect((copy.conditional != nil) == isFound)
            if isFound { #expect(copy.conditional === copy.plain) }
        }
        let outside = NSCodingTypedStreamArchiver()
        outside.encode(Condition(conditional: shared, plain: nil))
        #expect((outside.error as? ArchiveError)?.code == .misuse)
        let inside = NSCodingTypedStreamArchiver()
        inside.encodeRootObject(Rooted())
        #expect((inside.error as? ArchiveError)?.code == .misuse)
    }

    @Test("Versions are those of each class of the chain; objects may be replaced")
    func versionsAndReplacements() throws {
        let archiver = NSCodingTypedStreamArchiver()
        let employee = Employee(first: "Ann", last: "Lee", number: 7)
        archiver.replace(employee, with: NSString(string: "nobody"))
        archiver.encodeRootObject([Newer(), employee] as NSArray)
        #expect(archiver.version(forClassName: "FoundationCodingTests.Newer") == 4)
        let unarchiver = try NSCodingTypedStreamUnarchiver(
            forReadingFrom: try archiver.data(), allowing: [Newer.self, NSArray.self])
        let array = try #require(unarchiver.decodeObject() as? NSArray)
        #expect(array[1] as? String == "nobody")
        #expect((array[0] as? Newer)?.found == [4, 2, 0])
    }

    // MARK: Random graphs

    private func randomValue(_ random: inout SeededGenerator, _ depth: Int, _ known: inout [NSObject]) -> NSObject {
        if !known.isEmpty, Int.random(in: 0..<6, using: &random) == 0 {
            return known[.random(in: known.indices, using: &random)]
        }
        let value: NSObject
        switch Int.random(in: 0..<(depth < 4 ? 16 : 11), using: &random) {
        case 0: value = NSNumber(value: Bool.random(using: &random))
        case 1:
            value = NSNumber(
                value: Int64.random(in: .min ... .max, using: &random) >> Int64.random(in: 0..<64, using: &random))
        case 2: value = NSNumber(value: UInt64.random(in: 0 ... .max, using: &random))
        case 3: value = NSNumber(value: [0, 1, -0.0, -0.5, .infinity, 1e300, 5e9].randomElement(using: &random) ?? 0)
        case 4: value = NSNumber(value: Float.random(in: -1...1, using: &random))
        case 5: value = ["", "a", "é🎉", "same"].randomElement(using: &random).map { NSString(string: $0) } ?? ""
        case 6: value = NSMutableString(string: "m\(Int.random(in: 0...9, using: &random))")
        case 7: value = NSData(data: Data((0..<Int.random(in: 0...200, using: &random)).map { UInt8($0) }))
        case 8: value = NSDate(timeIntervalSinceReferenceDate: Double.random(in: -1e9...1e9, using: &random).rounded())
        case 9:
            value =
                NSURL(string: "https://example.org/\(Int.random(in: 0...9, using: &random))")
                ?? NSURL(fileURLWithPath: "/")
        case 10: value = NSValue(range: NSRange(location: Int.random(in: 0...99, using: &random), length: 4))
        case 11:
            let array = NSMutableArray()
            for _ in 0..<Int.random(in: 0...5, using: &random) { array.add(randomValue(&random, depth + 1, &known)) }
            value = Bool.random(using: &random) ? array : array.copy() as? NSArray ?? array
        case 12:
            let dictionary = NSMutableDictionary()
            for number in 0..<Int.random(in: 0...4, using: &random) {
                dictionary["k\(number)"] = randomValue(&random, depth + 1, &known)
            }
            value = Bool.random(using: &random) ? dictionary : dictionary.copy() as? NSDictionary ?? dictionary
        case 13:
            value = NSMutableSet(array: (0..<Int.random(in: 0...3, using: &random)).map { "e\($0)" })
        case 14:
            let string = NSMutableAttributedString(string: "some text with é")
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let range = NSRange(
                    location: Int.random(in: 0..<8, using: &random), length: Int.random(in: 1...8, using: &random))
                let key = NSAttributedString.Key(["a", "b"].randomElement(using: &random) ?? "a")
                string.addAttribute(key, value: NSNumber(value: Int32.random(in: 0...2, using: &random)), range: range)
            }
            value = Bool.random(using: &random) ? string : NSAttributedString(attributedString: string)
        default:
            value = Employee(
                first: "f\(Int.random(in: 0...9, using: &random))", last: "l",
                number: .random(in: .min ... .max, using: &random))
        }
        known.append(value)
        return value
    }

    @Test("Random graphs come back, and are written again as the same bytes", arguments: 0..<100)
    func randomInTypedStreamArchiver(round: Int) throws {
        let seed = TestSeed.next()
        var random = SeededGenerator(seed: seed)
        var known: [NSObject] = []
        let root = NSMutableArray()
        for _ in 0..<Int.random(in: 1...8, using: &random) { root.add(randomValue(&random, 0, &known)) }
        let archiver = NSCodingTypedStreamArchiver(isBigEndian: round.isMultiple(of: 2))
        archiver.encodeRootObject(root)
        let data = try archiver.data()
        let graph = try TypedStreamGraph(data)
        #expect(try graph.bytes() == Array(data), "DISTANT_SEED=\(seed)")
        #expect(try graph.forms() == TypedStreamForms(), "DISTANT_SEED=\(seed)")
        let unarchiver = try NSCodingTypedStreamUnarchiver(
            forReadingFrom: data, allowing: TypedStreamSample.allowed + [Employee.self])
        let copy = unarchiver.decodeObject()
        #expect(unarchiver.error == nil && unarchiver.isAtEnd, "DISTANT_SEED=\(seed)")
        // Booleans are the numbers 0 and 1 of the type c.
        let text = CanonicalText.text(root).replacing("false", with: "i0").replacing("true", with: "i1")
        #expect(CanonicalText.text(copy) == text, "DISTANT_SEED=\(seed)")
        let again = NSCodingTypedStreamArchiver(rewriting: unarchiver)
        again.encode(copy)
        #expect(try again.data() == data, "DISTANT_SEED=\(seed)")
    }

    // MARK: Errors

    private func failure(_ root: Any) -> ArchiveError? {
        do {
            _ = try NSCodingTypedStreamArchiver.archivedData(withRootObject: root)
            return nil
        } catch {
            return error as? ArchiveError
        }
    }

    @Test("What cannot be written is an error that names it, with the path")
    func errorsInTypedStreamArchiver() throws {
        struct Plain {}
        for object in [Plain(), NSObject(), NSUUID(), NSIndexSet(index: 1), ProcessInfo.processInfo, SubArray()]
            as [Any]
        {
            let found = try #require(failure([1, ["k": object]] as [Any]))
            #expect(found.code == .unsupported && found.description.hasPrefix("$0.$2.$2.$0: "), "\(found)")
        }
        #expect(failure(NSUUID())?.description.contains("NSUUID is a class of Foundation") == true)
        let archiver = NSCodingTypedStreamArchiver()
        archiver.encodeValues("c", [300])
        #expect((archiver.error as? ArchiveError)?.code == .misuse)
        #expect(throws: ArchiveError.self) { try archiver.data() }
        let keyed = NSCodingTypedStreamArchiver()
        keyed.encode(1, forKey: "key")
        #expect((keyed.error as? ArchiveError)?.message.contains("have no keys") == true)
        let done = NSCodingTypedStreamArchiver()
        #expect(try !done.data().isEmpty)
        done.encode("late")
        #expect((done.error as? ArchiveError)?.code == .misuse)
        let list = NSCodingTypedStreamArchiver()
        list.encodePropertyList(["date": NSDate()] as NSDictionary)
        #expect((list.error as? ArchiveError)?.description.contains("NSDate in an old property list") == true)
    }

    @Test("Long chains are written on a thread with a small stack, up to the limit")
    func deepInTypedStreamArchiver() async throws {
        @Sendable func chain(_ count: Int) -> Chain {
            var first = Chain(next: nil)
            for _ in 1..<count { first = Chain(next: first) }
            return first
        }
        let codes = await withCheckedContinuation { (continuation: CheckedContinuation<[ArchiveError.Code?], Never>) in
            let thread = Thread {
                continuation.resume(
                    returning: [2_000, 20_000].map { count in
                        let root = chain(count)
                        defer { root.unlink() }
                        do {
                            let data = try NSCodingTypedStreamArchiver.archivedData(withRootObject: root)
                            let copy = try NSCodingTypedStreamUnarchiver.unarchivedObject(
                                ofClass: Chain.self, from: data)
                            let isWhole = copy?.count == count
                            copy?.unlink()
                            return isWhole ? nil : .corrupt
                        } catch {
                            return (error as? ArchiveError)?.code
                        }
                    })
            }
            thread.stackSize = (512 << 10) * (Sanitizer.isAddress ? 8 : 1)
            thread.start()
        }
        #expect(codes == [nil, .limit])
    }
}
