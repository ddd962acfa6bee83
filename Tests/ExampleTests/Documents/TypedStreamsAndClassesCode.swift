// swift-format-ignore-file
// It is laid out as TypedStreamsAndClasses.md shows it.

#if canImport(FoundationCoding)
    import Foundation
    import FoundationCoding
    import Testing

    /// The code of TypedStreamsAndClasses.md.
    enum TypedStreamsAndClassesCode {
        // TypedStreamsAndClasses.md: body
        func text(ofBody data: Data) throws -> String {
            let body = try NSCodingTypedStreamUnarchiver.unarchivedObject(ofClass: NSAttributedString.self, from: data)
            return body?.string ?? ""
        }
        // end

        // TypedStreamsAndClasses.md: class
        final class Reading: NSObject, NSCoding, NSCodingVersioned {
            static var classVersion: Int { 2 }
            let name: String
            let value: Double

            init(name: String, value: Double) {
                self.name = name
                self.value = value
            }

            init?(coder: NSCoder) {
                name = coder.decodeObject() as? String ?? ""
                var value = 0.0
                if coder.version(forClassName: "Reading") < 2 {
                    var old: Float = 0
                    coder.decodeValue(ofObjCType: "f", at: &old)
                    value = Double(old)
                } else {
                    coder.decodeValue(ofObjCType: "d", at: &value)
                }
                self.value = value
            }

            func encode(with coder: NSCoder) {
                coder.encode(name)
                var value = value
                coder.encodeValue(ofObjCType: "d", at: &value)
            }
        }
        // end

        static func open(_ data: Data) throws -> Reading? {
            // TypedStreamsAndClasses.md: open
            let unarchiver = try NSCodingTypedStreamUnarchiver(forReadingFrom: data, allowing: [Reading.self])
            unarchiver.setClass(Reading.self, forClassName: "ABCReading")
            let reading = unarchiver.decodeObject(of: Reading.self)
            if let error = unarchiver.error { throw error }
            // end
            return reading
        }

        static func write() throws -> Data {
            // TypedStreamsAndClasses.md: write
            let archiver = NSCodingTypedStreamArchiver()
            archiver.setClassName("ABCReading", for: Reading.self)
            archiver.encodeRootObject(Reading(name: "Level", value: 0.5))
            let data = try archiver.data()
            // end
            return data
        }

        static func groups(_ archiver: NSCodingTypedStreamArchiver, _ unarchiver: NSCodingTypedStreamUnarchiver) -> [CodedValue]? {
            // TypedStreamsAndClasses.md: groups
            archiver.encodeValues("iI@", [1, 3, .object("text")])
            let values = unarchiver.decodeValues("iI@")
            // end
            return values
        }

        static func change(_ data: Data) throws -> Data {
            // TypedStreamsAndClasses.md: change
            let unarchiver = try NSCodingTypedStreamUnarchiver(forReadingFrom: data)
            let settings = unarchiver.decodeObject(of: NSMutableDictionary.self)
            settings?["Count"] = NSNumber(value: 3)
            let archiver = NSCodingTypedStreamArchiver(rewriting: unarchiver)
            archiver.encode(settings)
            let changed = try archiver.data()
            // end
            return changed
        }
    }

    @Suite("The article “Typedstreams and classes”")
    struct TypedStreamsAndClassesTests {
        @Test("What the examples write, they read")
        func bothWays() throws {
            let reading = try #require(try TypedStreamsAndClassesCode.open(TypedStreamsAndClassesCode.write()))
            #expect(reading.name == "Level" && reading.value == 0.5)
        }

        @Test("A changed dictionary keeps the rest")
        func change() throws {
            let data = try NSCodingTypedStreamArchiver.archivedData(withRootObject: NSMutableDictionary(dictionary: ["a": "b"]))
            let changed = try TypedStreamsAndClassesCode.change(data)
            let found = try NSCodingTypedStreamUnarchiver.unarchivedObject(ofClass: NSMutableDictionary.self, from: changed)
            #expect(found == ["a": "b", "Count": 3])
        }
    }
#endif
