import Foundation
import FoundationCoding
import KeyedArchive
import Testing

@Suite("The coders' calls")
struct CoderTests {
    @Test("Each kind of value comes back by key, exactly", arguments: SeedTests.formats)
    func kindsInCoder(format: ArchiveFormat) throws {
        let old = Everything()
        let data = try NSCodingArchiver.archivedData(withRootObject: old, requiringSecureCoding: true, format: format)
        let new = try #require(try NSCodingUnarchiver.unarchivedObject(ofClass: Everything.self, from: data))
        #expect(new.flag == old.flag)
        #expect((new.integer, new.int32, new.int64) == (old.integer, old.int32, old.int64))
        #expect(new.float.bitPattern == old.float.bitPattern)
        #expect(new.double.bitPattern == old.double.bitPattern)
        #expect(new.bytes == old.bytes)
        #expect(new.nothing == nil)
        #expect(new.date == old.date)
        #expect(new.words == old.words)
        #expect(new.point == old.point)
    }

    @Test("Values without keys come back in order, by type string, arrays and structures too")
    func unkeyed() throws {
        for isSequential in [false, true] {
            let archiver = isSequential ? NSCodingSequentialArchiver() : NSCodingArchiver()
            var byte = Int8(-8), short = UInt16.max, long = UInt64.max, real = 0.1, flag = true
            var point = NSPoint(x: 1, y: -1)
            let floats: [Float] = [1, 2.5, -3]
            archiver.encodeValue(ofObjCType: "c", at: &byte)
            archiver.encodeValue(ofObjCType: "S", at: &short)
            archiver.encodeValue(ofObjCType: "Q", at: &long)
            archiver.encodeValue(ofObjCType: "d", at: &real)
            archiver.encodeValue(ofObjCType: "B", at: &flag)
            archiver.encodeValue(ofObjCType: "{CGPoint=dd}", at: &point)
            archiver.encodeArray(ofObjCType: "f", count: 3, at: floats)
            "text".withCString { text in
                var pointer: UnsafePointer<CChar>? = text
                archiver.encodeValue(ofObjCType: "*", at: &pointer)
            }
            archiver.encode(Data([1, 2]))
            archiver.encodeBytes([3, 4, 5] as [UInt8], length: 3)
            archiver.encodePropertyList(["k": [1, 2.5]])
            archiver.encodeBycopyObject("copy")
            archiver.encodeByrefObject("reference")
            archiver.encodeRootObject("root")
            archiver.encodeConditionalObject("nobody else has it")
            let data = try archiver.data()

            let unarchiver: NSCodingUnarchiver =
                isSequential
                ? try NSCodingSequentialUnarchiver(forReadingFrom: data) : try NSCodingUnarchiver(forReadingFrom: data)
            (byte, short, long, real, flag) = (0, 0, 0, 0, false)
            point = .zero
            var back: [Float] = [0, 0, 0]
            unarchiver.decodeValue(ofObjCType: "c", at: &byte)
            unarchiver.decodeValue(ofObjCType: "S", at: &short)
            unarchiver.decodeValue(ofObjCType: "Q", at: &long)
            unarchiver.decodeValue(ofObjCType: "d", at: &real)
            unarchiver.decodeValue(ofObjCType: "B", at: &flag)
            unarchiver.decodeValue(ofObjCType: "{CGPoint=dd}", at: &point)
            unarchiver.decodeArray(ofObjCType: "f", count: 3, at: &back)
            #expect((byte, short, long, real, flag) == (-8, .max, .max, 0.1, true))
            #expect(point == NSPoint(x: 1, y: -1))
            #expect(back == floats)
            var text: UnsafePointer<CChar>?
            unarchiver.decodeValue(ofObjCType: "*", at: &text)
            #expect(text.map { String(cString: $0) } == "text")
            #expect(unarchiver.decodeData() == Data([1, 2]))
            #expect(unarchiver.decodeData() == Data([3, 4, 5]))
            #expect(unarchiver.decodePropertyList() as? NSDictionary == ["k": [1, 2.5]] as NSDictionary)
            #expect((0..<3).map { _ in unarchiver.decodeObject() as? String } == ["copy", "reference", "root"])
            #expect(unarchiver.decodeObject() == nil)
            #expect(unarchiver.error == nil)
        }
    }

    @Test("A C array of another count or type is an error, and leaves zeros")
    func wrongArray() throws {
        for (type, count) in [("f", 4), ("f", 2), ("i", 3), ("d", 3)] {
            let archiver = NSCodingArchiver()
            archiver.encodeArray(ofObjCType: "f", count: 3, at: [1, 2, 3] as [Float])
            let unarchiver = try NSCodingUnarchiver(forReadingFrom: try archiver.data())
            var memory = [UInt64](repeating: .max, count: 4)
            unarchiver.decodeArray(ofObjCType: type, count: count, at: &memory)
            #expect((unarchiver.error as? ArchiveError)?.code == .typeMismatch)
            #expect(memory[0] == 0)
        }
    }

    @Test(
        "Type strings that cannot be archived are errors",
        arguments: ["", "?", "^i", "[3", "[99999999999i]", "{a", "ii"])
    func wrongTypes(type: String) throws {
        let archiver = NSCodingArchiver()
        var memory = [UInt64](repeating: 0, count: 4)
        archiver.encodeValue(ofObjCType: type, at: &memory)
        #expect((archiver.error as? ArchiveError)?.code == .unsupported)
        #expect(archiver.encodedData.isEmpty)
        let unarchiver = try NSCodingUnarchiver(forReadingFrom: try NSCodingArchiver().data())
        unarchiver.decodeValue(ofObjCType: type, at: &memory)
        #expect((unarchiver.error as? ArchiveError)?.code == .unsupported)
    }

    @Test("A user's key that begins with a dollar is not taken for one of the format")
    func dollarKeysInCoder() throws {
        let archiver = NSCodingArchiver()
        archiver.encode(1, forKey: "$0")
        archiver.encode(2, forKey: "$class")
        archiver.encode("unkeyed")
        let unarchiver = try NSCodingUnarchiver(forReadingFrom: try archiver.data())
        #expect(unarchiver.decodeInteger(forKey: "$0") == 1)
        #expect(unarchiver.decodeInteger(forKey: "$class") == 2)
        #expect(unarchiver.decodeObject() as? String == "unkeyed")
        #expect(unarchiver.error == nil)
    }

    @Test(
        "A missing value is nil or 0; a wrong one is an error with its path, and after it every call returns nil or 0")
    func wrongValues() throws {
        let archiver = NSCodingArchiver()
        archiver.encode(["text", Everything()] as NSArray, forKey: "list")
        archiver.encode("text", forKey: "text")
        archiver.encode(Int.max, forKey: "big")
        let data = try archiver.data()
        func error(_ decode: (NSCodingUnarchiver) -> Void) throws -> String {
            let unarchiver = try NSCodingUnarchiver(forReadingFrom: data)
            unarchiver.decodingFailurePolicy = .raiseException
            #expect(unarchiver.decodeInteger(forKey: "missing") == 0)
            #expect(unarchiver.decodeObject(forKey: "missing") == nil)
            #expect(unarchiver.error == nil)
            decode(unarchiver)
            let error = unarchiver.error as? ArchiveError
            #expect(unarchiver.decodeObject(forKey: "text") == nil)
            #expect(!unarchiver.containsValue(forKey: "text"))
            return error?.description ?? ""
        }
        #expect(try error { _ = $0.decodeInteger(forKey: "text") } == "text: expected a number, found a string")
        #expect(try error { _ = $0.decodeInt32(forKey: "big") } == "big: the number does not fit Int32")
        #expect(
            try error { _ = $0.decodeObject(of: NSDate.self, forKey: "text") }.hasPrefix(
                "text: NSString is not allowed here: name the class") == true)
        let found = try error { _ = $0.decodeObject(of: [NSArray.self, NSString.self], forKey: "list") }
        #expect(found.hasPrefix("list[1]: the class FoundationCodingTests.Everything"))
    }

    @Test("What cannot be archived is kept as an error")
    func unarchivable() throws {
        struct Point {}
        for object in [Point(), NSObject(), ["k": [Point()]], ProcessInfo.processInfo] as [Any] {
            let error = #expect(throws: ArchiveError.self) {
                try NSCodingArchiver.archivedData(withRootObject: object)
            }
            #expect(error?.code == .unsupported)
        }
        let error = #expect(throws: ArchiveError.self) {
            try NSCodingArchiver.archivedData(withRootObject: Foo(name: "", age: 0), requiringSecureCoding: true)
        }
        #expect(error?.code == .unsupported)
    }
}
