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
    func ownClass() throws {
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
}
