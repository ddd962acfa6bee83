import ArchiveFixtures
import Foundation
import FoundationCoding
import KeyedArchive
import Testing

/// Two numbers that its own code encodes.
private final class TwoNumbers: NSObject, NSCoding {
    var first: NSNumber?
    let second: NSNumber?

    init?(coder: NSCoder) {
        first = coder.decodeObject() as? NSNumber
        second = coder.decodeObject() as? NSNumber
    }

    func encode(with coder: NSCoder) {
        coder.encode(first)
        coder.encode(second)
    }
}

@Suite("What stays where an opened typedstream is changed and written again")
struct TypedStreamRewritingTests {
    private func rewritten<T: NSObject & NSCoding>(
        _ data: Data, as type: T.Type, _ name: String? = nil, _ change: (T) -> Void
    ) throws -> Data {
        let unarchiver = try NSCodingTypedStreamUnarchiver(forReadingFrom: data)
        if let name { unarchiver.setClass(type, forClassName: name) }
        let object = try #require(unarchiver.decodeObject(of: type))
        change(object)
        let archiver = NSCodingTypedStreamArchiver(rewriting: unarchiver)
        archiver.encode(object)
        return try archiver.data()
    }

    @Test("Equal numbers of several kinds keep theirs at their keys, and nil stays nil")
    func dictionary() throws {
        func settings(_ first: (inout TypedStreamSample) -> Void) -> Data {
            TypedStreamSample.data {
                $0.dictionary(4, isMutable: true) {
                    $0.string("flag")
                    first(&$0)
                    $0.string("count")
                    $0.number("i", [1])
                    $0.string("big")
                    $0.number("q", [1])
                    $0.string("none")
                    $0.group("@", TypedStreamBytes.null)
                }
            }
        }
        let data = settings { $0.number("c", [1]) }
        #expect(try rewritten(data, as: NSMutableDictionary.self) { _ in } == data)
        let changed = try rewritten(data, as: NSMutableDictionary.self) { $0["flag"] = NSNumber(value: 77) }
        #expect(changed == settings { $0.number("q", [77]) })
    }

    @Test("Numbers and nil in an array keep what they are in front of the first change and behind the last")
    func array() throws {
        func list(_ count: Int, _ middle: (inout TypedStreamSample) -> Void) -> Data {
            TypedStreamSample.data {
                $0.array(count, isMutable: true) {
                    $0.number("s", [5])
                    $0.group("@", TypedStreamBytes.null)
                    $0.number("q", [5])
                    middle(&$0)
                    $0.number("i", [5])
                    $0.group("@", TypedStreamBytes.null)
                    $0.number("Q", [5])
                }
            }
        }
        let data = list(7) { $0.string("x") }
        #expect(try rewritten(data, as: NSMutableArray.self) { _ in } == data)
        #expect(try rewritten(data, as: NSMutableArray.self) { $0.removeObject(at: 3) } == list(6) { _ in })
        #expect(try rewritten(data, as: NSMutableArray.self) { $0[3] = "y" } == list(7) { $0.string("y") })
    }

    @Test("A number that a class encodes keeps its kind where the one before changed")
    func ownClassInTypedStreamRewriting() throws {
        func object(_ first: (inout TypedStreamSample) -> Void) -> Data {
            TypedStreamSample.data {
                $0.group("@")
                $0.object([("TwoNumbers", 0), ("NSObject", 0)]) {
                    first(&$0)
                    $0.number("s", [1])
                }
            }
        }
        let data = object { $0.number("c", [1]) }
        #expect(try rewritten(data, as: TwoNumbers.self, "TwoNumbers") { _ in } == data)
        let changed = try rewritten(data, as: TwoNumbers.self, "TwoNumbers") { $0.first = NSNumber(value: 70_000) }
        #expect(changed == object { $0.number("q", TypedStreamBytes.number(70_000)) })
    }

    @Test("Text that is not UTF-8 stays in a mutable string that did not change")
    func mutableText() throws {
        func list(_ text: [UInt8], _ count: Int = 2) -> Data {
            TypedStreamSample.data {
                $0.array(count, isMutable: true) {
                    $0.group("@")
                    $0.object([("NSMutableString", 1), ("NSString", 1), ("NSObject", 0)]) {
                        $0.group("+", TypedStreamBytes.number(text.count) + text)
                    }
                    if count > 1 { $0.string("x") }
                }
            }
        }
        let data = list([0x61, 0xE9])
        #expect(try rewritten(data, as: NSMutableArray.self) { $0.removeObject(at: 1) } == list([0x61, 0xE9], 1))
        let changed = try rewritten(data, as: NSMutableArray.self) {
            (RawObjects.elements($0)[0] as? NSMutableString)?.setString("b")
        }
        #expect(changed == list([0x62]))
    }

    @Test("What would not be written as it was is refused: names that are not UTF-8, and keys that become equal")
    func lossy() throws {
        let bad: [UInt8] = [0x4E, 0xE9]
        let ofClass = Data(
            TypedStreamBytes.file(
                TypedStreamBytes.new("@"), [0x84], [0x84] + TypedStreamBytes.new("NSDate") + [0],
                [0x84, 0x84, 2] + bad + [0] + TypedStreamBytes.null, TypedStreamBytes.new("d"), [1],
                TypedStreamBytes.end))
        let ofStructure = TypedStreamSample.data { sample in
            sample.group("@")
            sample.object([("NSValue", 0), ("NSObject", 0)]) {
                $0.group("*")
                // The label of a C string is new, and so is its text, which is the type, too.
                $0.append([0x84, 0x84, 6, 0x7B] + bad + [0x3D, 0x69, 0x7D] + TypedStreamBytes.reference(4) + [1])
            }
        }
        func keys(_ texts: [[UInt8]]) -> Data {
            TypedStreamSample.data {
                $0.dictionary(texts.count) {
                    for text in texts {
                        $0.group("@")
                        $0.object([("NSString", 1), ("NSObject", 0)]) {
                            $0.group("+", TypedStreamBytes.number(text.count) + text)
                        }
                        $0.number("i", [1])
                    }
                }
            }
        }
        for (data, reason) in [
            (ofClass, "a class whose name is not UTF-8"), (ofStructure, "a value whose type is not UTF-8"),
            (keys([[0x61, 0xE9], [0x61, 0xE8]]), "equal as objects of Foundation"),
        ] {
            let error = try #require(throws: ArchiveError.self) {
                try NSCodingTypedStreamUnarchiver.unarchivedObject(ofClasses: nil, from: data)
            }
            #expect(error.code == .unsupported && error.description.contains(reason), "\(error)")
        }
        let data = keys([[0x61, 0xE9], [0x62, 0xE8]])
        let unarchiver = try NSCodingTypedStreamUnarchiver(forReadingFrom: data)
        #expect((unarchiver.decodeObject() as? NSDictionary)?.count == 2)
    }
}
