import ArchiveFixtures
import Foundation
import KeyedArchive
import TestSupport
import Testing

#if canImport(FoundationCoding)
    import FoundationCoding

    /// Encodes values of many types without keys, and itself as the parent of others.
    final class SequentialPart: NSObject, NSCoding, NSCodingVersioned {
        static var classVersion: Int { 3 }

        let name: String
        let numbers: [Int32]
        let pairs: [(Int16, Double)]
        let isOpen: Bool
        let size: UInt64
        let children: [SequentialPart]
        private(set) weak var parent: SequentialPart?
        /// What the archive says of the class; 3 for one that was not decoded.
        let version: Int

        init(_ name: String, numbers: [Int32], size: UInt64, isOpen: Bool = false, children: [SequentialPart] = []) {
            self.name = name
            self.numbers = numbers
            self.size = size
            self.isOpen = isOpen
            self.children = children
            pairs = numbers.prefix(2).map { (Int16(truncatingIfNeeded: $0), Double($0) / 4) }
            version = Self.classVersion
            super.init()
            for child in children { child.parent = self }
        }

        init?(coder: NSCoder) {
            name = coder.decodeObject() as? String ?? ""
            var numbers: [Int32] = [0, 0, 0]
            coder.decodeArray(ofObjCType: "i", count: 3, at: &numbers)
            self.numbers = numbers
            var (pairs, isOpen, size): ([(Int16, Double)], Bool, UInt64) = ([(0, 0), (0, 0)], false, 0)
            coder.decodeValue(ofObjCType: "[2{?=sd}]", at: &pairs)
            coder.decodeValue(ofObjCType: "B", at: &isOpen)
            coder.decodeValue(ofObjCType: "Q", at: &size)
            (self.pairs, self.isOpen, self.size) = (pairs, isOpen, size)
            children = coder.decodeObject() as? [SequentialPart] ?? []
            version = coder.version(forClassName: "ExampleTests.SequentialPart")
            super.init()
            guard let typed = coder as? NSCodingTypedStreamUnarchiver else { return }
            typed.decodeReference(of: SequentialPart.self) { [unowned self] in self.parent = $0 }
            var text: UnsafePointer<CChar>?
            coder.decodeValue(ofObjCType: "*", at: &text)
            guard text.map({ String(cString: $0) }) == name else { return nil }
        }

        func encode(with coder: NSCoder) {
            coder.encode(name)
            coder.encodeArray(ofObjCType: "i", count: 3, at: numbers)
            coder.encodeValue(ofObjCType: "[2{?=sd}]", at: pairs)
            var (isOpen, size) = (isOpen, size)
            coder.encodeValue(ofObjCType: "B", at: &isOpen)
            coder.encodeValue(ofObjCType: "Q", at: &size)
            coder.encode(children as NSArray)
            coder.encodeConditionalObject(parent)
            name.withCString {
                var text = $0
                coder.encodeValue(ofObjCType: "*", at: &text)
            }
        }

        /// All content, of the children as well.
        var text: String {
            let own = "\(name) \(numbers) \(pairs) \(isOpen) \(size) \(version) of \(parent?.name ?? "none")"
            return "\(own) [\(children.map(\.text).joined(separator: ", "))]"
        }
    }

    /// One of many in a row.
    final class SequentialLink: NSObject, NSCoding {
        var next: SequentialLink?
        override init() {}
        init?(coder: NSCoder) { next = coder.decodeObject() as? SequentialLink }
        func encode(with coder: NSCoder) { coder.encode(next) }
    }

    @Suite("distant convert --to typedstream of sequential archives")
    struct SequentialTranslationTests {
        private let scratch: TemporaryFolder

        init() throws {
            scratch = try TemporaryFolder()
        }

        private func convert(_ data: Data, to format: String = "typedstream") async throws -> Program.Outcome {
            try data.write(to: URL(fileURLWithPath: scratch.path("in")))
            return try await Program.run(
                "distant", ["convert", "--to", format, scratch.path("in"), scratch.path("out")], in: scratch)
        }

        private func converted(_ data: Data, to format: String = "typedstream") async throws -> Data {
            let outcome = try await convert(data, to: format)
            #expect(outcome.status == 0, "\(outcome.errors)")
            return try Data(contentsOf: URL(fileURLWithPath: scratch.path("out")))
        }

        @Test("Values and objects open in the same order, with their types, classes, versions and parents")
        func valuesInSequentialTranslation() async throws {
            let children = [
                SequentialPart("left", numbers: [-1, 300, 70_000], size: 1),
                SequentialPart("é", numbers: [4, 5, 6], size: .max),
            ]
            let whole = SequentialPart(
                "whole", numbers: [.min, .max, 0], size: 1 << 40, isOpen: true, children: children)
            for format in [ArchiveFormat.binary, .xml, .compact] {
                let archiver = NSCodingSequentialArchiver()
                archiver.encode(whole)
                var (short, real, small): (Int16, Double, Float) = (-300, .pi, -0.0)
                archiver.encodeValue(ofObjCType: "s", at: &short)
                archiver.encodeValue(ofObjCType: "d", at: &real)
                archiver.encode(nil)
                archiver.encode(children[1])
                archiver.encodeValue(ofObjCType: "f", at: &small)
                let bytes = try archiver.graph().bytes(format: format)
                let typed = try await converted(Data(bytes))
                let unarchiver = try NSCodingTypedStreamUnarchiver(
                    forReadingFrom: typed, allowing: [SequentialPart.self])
                let copy = unarchiver.decodeObject(of: SequentialPart.self)
                #expect(copy?.text == whole.text, "\(format) \(unarchiver.error.map { "\($0)" } ?? "")")
                var (copiedShort, copiedReal): (Int16, Double) = (0, 0)
                unarchiver.decodeValue(ofObjCType: "s", at: &copiedShort)
                unarchiver.decodeValue(ofObjCType: "d", at: &copiedReal)
                #expect(copiedShort == short && copiedReal == real)
                #expect(unarchiver.nextTypes == "@" && unarchiver.decodeObject() == nil)
                #expect(unarchiver.decodeObject(of: SequentialPart.self) === copy?.children[1])
                guard case .float(let zero)? = unarchiver.decodeValues("f")?[0] else {
                    Issue.record("\(String(describing: unarchiver.error))")
                    continue
                }
                #expect(zero == 0 && zero.sign == .minus && unarchiver.isAtEnd)
            }
        }

        private static let classes: [AnyClass] = [
            NSSet.self, NSNull.self, NSTimeZone.self, NSURL.self, NSValue.self, NSAttributedString.self,
            NSDecimalNumber.self,
        ]

        @Test("Foundation's objects open as the same objects")
        func foundationInSequentialTranslation() async throws {
            let runs = NSMutableAttributedString(string: "é🙂b", attributes: [.init("k"): 1, .init("l"): "x"])
            runs.append(NSAttributedString(string: "cd"))
            runs.append(NSAttributedString(string: "e", attributes: [.init("k"): 1, .init("l"): "x"]))
            let objects: [NSObject] = [
                "text" as NSString, "$null" as NSString, NSMutableString(string: "é"), Data([1, 0, 255]) as NSData,
                NSMutableData(), NSNumber(value: true), NSNumber(value: -5), NSNumber(value: Int64.min),
                NSNumber(value: UInt64.max), NSNumber(value: Float(0.5)), NSNumber(value: 1e300),
                NSDecimalNumber(string: "-12345678901234567890.125"), NSDecimalNumber.notANumber,
                NSDate(timeIntervalSinceReferenceDate: 0.25), NSNull(), ["a", 1, ["b"]] as NSArray,
                NSMutableArray(array: [1]), ["k": ["v", 2], "l": 3] as NSDictionary, NSMutableDictionary(),
                NSSet(array: [1, "a"]), NSMutableSet(array: ["z"]), NSTimeZone(name: "Europe/Paris") ?? NSNull(),
                NSURL(string: "http://a/b") ?? NSNull(),
                NSURL(string: "c", relativeTo: URL(string: "http://a/b")) ?? NSNull(),
                NSValue(point: NSPoint(x: 1, y: -2.5)), NSValue(size: NSSize(width: 3, height: 1e10)),
                NSValue(rect: NSRect(x: 1, y: 2, width: 3.25, height: 4)),
                NSValue(range: NSRange(location: 7, length: 9)),
                NSAttributedString(string: "plain"), NSAttributedString(string: ""), runs,
            ]
            let archiver = NSCodingSequentialArchiver()
            for object in objects { archiver.encode(object) }
            archiver.encode(objects[2])
            let typed = try await converted(try archiver.data())
            let unarchiver = try NSCodingTypedStreamUnarchiver(
                forReadingFrom: typed, allowing: Self.classes)
            var copies: [NSObject] = []
            for object in objects {
                let copy = try #require(
                    unarchiver.decodeObject() as? NSObject, "\(object): \(unarchiver.error.map { "\($0)" } ?? "")")
                copies.append(copy)
                #expect(object.isEqual(copy) && object.classForCoder == copy.classForCoder, "\(copy)")
            }
            #expect(unarchiver.decodeObject() as? NSObject === copies[2] && unarchiver.isAtEnd)
            #expect((copies[2] as? NSMutableString)?.isEqual("é") == true)
            // The kinds of numbers, too.
            #expect((copies[9] as? NSNumber).map { String(cString: $0.objCType) } == "f")
        }

        @Test("A typedstream of Foundation's objects comes back from a sequential archive with the same content")
        func fixturesInSequentialTranslation() async throws {
            var count = 0
            for archive in try Fixtures.typedstreams() {
                // A collection that contains itself would be compared without end; with a list of classes it is an error.
                let unarchiver = try NSCodingTypedStreamUnarchiver(
                    forReadingFrom: archive.data, allowing: Self.classes)
                guard let root = unarchiver.decodeObject() as? NSObject, unarchiver.error == nil else { continue }
                let archiver = NSCodingSequentialArchiver()
                archiver.encode(root)
                guard let data = try? archiver.data() else { continue }
                let copy =
                    try NSCodingTypedStreamUnarchiver.unarchivedObject(
                        ofClasses: Self.classes, from: try await converted(data)) as? NSObject
                #expect(root.isEqual(copy), "\(archive.name)")
                count += 1
            }
            #expect(count >= (Fixtures.areOfOthers ? 8 : 1), "\(count)")
        }

        @Test("Objects far inside one another become a typedstream")
        func deepInSequentialTranslation() async throws {
            let count = Sanitizer.isAddress ? 2_000 : 20_000
            let first = SequentialLink()
            var last = first
            for _ in 1..<count {
                let link = SequentialLink()
                last.next = link
                last = link
            }
            let archiver = NSCodingSequentialArchiver()
            archiver.encode(first)
            let graph = try TypedStreamGraph(try await converted(try archiver.data()))
            // A class, its superclass, and the objects, each of which has the next one.
            #expect(graph.labels.count == count + 2)
            for (label, content) in graph.labels.enumerated() {
                guard case .object(let object) = content else { continue }
                let values = object.groups.flatMap { Array($0.values) }
                let next = label == 0 ? 3 : label + 1
                #expect(values == [next < graph.labels.count ? .label(next) : .null])
            }
            var next = first.next
            first.next = nil
            while let link = next {
                next = link.next
                link.next = nil
            }
        }

        @Test("What a typedstream cannot have is refused, with the value, the object and the reason")
        func refusalsInSequentialTranslation() async throws {
            func sequential(_ encode: (NSCodingSequentialArchiver) -> Void) throws -> Data {
                let archiver = NSCodingSequentialArchiver()
                encode(archiver)
                return try archiver.data()
            }
            let plain = SequentialArchiver(format: .binary)
            try plain.encode(7)
            let unknown = ["a", [NSUUID()] as NSArray] as NSArray
            let type = try sequential { coder in
                var type: AnyClass? = SequentialPart.self
                withUnsafePointer(to: &type) { coder.encodeValue(ofObjCType: "#", at: $0) }
            }
            var broken = try sequential { $0.encode("text") }
            if let range = broken.range(of: Data("$types".utf8)) {
                broken.replaceSubrange(range, with: Data("$typet".utf8))
            }
            for (data, reason) in [
                (try sequential { $0.encode(unknown) }, "$0.$2.$1: NSUUID #"),
                (try sequential { $0.encode(unknown) }, "has a value with the key “NS.uuidbytes”, and no form"),
                (type, "$0: has the class ExampleTests.SequentialPart as a value, whose superclasses"),
                (try Data(plain.finish() as [UInt8]), "only NSCodingSequentialArchiver writes them"),
                (broken, "its values have no types"),
                (try Data(KeyedArchiver.archive(1, format: .xml) as [UInt8]), "only a typedstream, or the JSON or"),
            ] {
                let outcome = try await convert(data)
                #expect(outcome.status == 1 && outcome.errors.contains(reason), "\(outcome.errors)")
            }
            #expect(!FileManager.default.fileExists(atPath: scratch.path("out")))
        }

        @Test("Types and arrays that contradict the values are refused")
        func contradictions() async throws {
            func archive(_ types: String, _ values: [ArchivedValue], _ array: [(String, ArchivedValue)] = []) throws
                -> Data
            {
                var graph = ArchivedGraph(archiver: "NSArchiver")
                // Its class is the object 1.
                let index = graph.add(className: "_NSKeyedCoderOldStyleArray", fields: [])
                #expect(index == 2)
                try graph.replace(
                    index,
                    with: .instance(
                        ArchivedRecord(
                            typeName: "_NSKeyedCoderOldStyleArray", classIndex: 1, storedKeys: array.map(\.0),
                            values: array.map(\.1))))
                let indices = values.indices.map { "$\($0)" }
                graph.setRoots(
                    ArchivedRecord(
                        typeName: "", storedKeys: indices + ["$types"], values: values + [.string(types)]))
                return Data(try graph.bytes(format: .binary))
            }
            let two: [(String, ArchivedValue)] = [("NS.count", .integer(2)), ("$0", .integer(1)), ("$1", .integer(2))]
            for (data, reason) in [
                (try archive("c", [.integer(127)]), nil), (try archive("[2i]", [.reference(2)], two), nil),
                (try archive("[2{?=}]", [.reference(2)], [("NS.count", .integer(2))]), nil),
                (try archive("c", [.integer(128)]), "$0: has a value that does not have its type “c”"),
                (try archive("@", [.integer(1)]), "$0: has a value that does not have its type “@”"),
                (try archive("c,c", [.integer(1)]), "has the types of 2 values, and 1 values"),
                (try archive("cc", [.integer(1)]), "the type “cc”, which is not one of such an archive"),
                (try archive("{?=c}", [.integer(1)]), "the type “{?=c}”, which is not one"),
                (try archive("[2", [.integer(1)]), "the type “[2”, which is not one"),
                (try archive("[3i]", [.reference(2)], two), "not the array that its type “[3i]” says"),
                (try archive("[2{?=ii}]", [.reference(2)], two), "has an array of 2 values where its type"),
                (try archive("[2i],[2i]", [.reference(2), .reference(2)], two), "$1: shares a C array"),
                (try archive("[2i]", [.reference(2)], [two[0], two[2]]), "has no value"),
            ] {
                let outcome = try await convert(data)
                #expect(outcome.status == (reason == nil ? 0 : 1), "\(reason ?? "") \(outcome.errors)")
                if let reason { #expect(outcome.errors.contains(reason), "\(outcome.errors)") }
            }
        }
    }
#endif
