import ArchiveFixtures
import Foundation
import FoundationCoding
import KeyedArchive
import PortTransport
import TestSupport
import Testing

/// Refers back to the object that contains it.
final class BackLink: NSObject, NSCoding {
    private(set) weak var back: BackLink?
    private(set) var next: BackLink?

    init?(coder: NSCoder) {
        super.init()
        guard let coder = coder as? NSCodingTypedStreamUnarchiver else { return nil }
        coder.decodeReference(of: BackLink.self) { [unowned self] in back = $0 }
        next = coder.decodeObject(of: BackLink.self)
    }

    func encode(with coder: NSCoder) {}
}

/// A faulty class that decodes with all calls.
private final class Greedy: NSObject, NSCoding {
    init?(coder: NSCoder) {
        guard let coder = coder as? NSCodingTypedStreamUnarchiver else { return nil }
        var memory = [UInt64](repeating: 0, count: 8)
        for type in ["i", "@", "q", "f", "d", "c", "*", ":", "%", "#", "{a=ii}", "[4i]", "S"] where coder.error == nil {
            if type == "@" { _ = coder.decodeObject() } else { coder.decodeValue(ofObjCType: type, at: &memory) }
        }
        _ = coder.decodeData()
        _ = coder.decodeBytes()
        _ = coder.decodePropertyList()
        _ = coder.decodeStoredPoint()
        _ = coder.decodeInteger(forKey: "key")
    }

    func encode(with coder: NSCoder) {}
}

/// Contains an object of a class that it lists, or does not.
private final class Changing: NSObject, NSCoding, NSCodingClassListing {
    // Only one test sets it.
    nonisolated(unsafe) static var archivedClasses: [AnyClass] = []

    init?(coder: NSCoder) { _ = coder.decodeObject() }

    func encode(with coder: NSCoder) {}
}

@Suite("What typedstreams may contain, and what hostile ones cost")
struct TypedStreamAllowListTests {
    private typealias Bytes = TypedStreamBytes

    private func code(_ data: Data, _ classes: [AnyClass]?) -> ArchiveError.Code? {
        do {
            _ = try NSCodingTypedStreamUnarchiver.unarchivedObject(ofClasses: classes, from: data)
            return nil
        } catch {
            return (error as? ArchiveError)?.code
        }
    }

    @Test("A class is made if it or a superclass is named; each superclass in the archive counts, too")
    func namedInTypedStreamAllowList() throws {
        let employee = TypedStreamSample.data { $0.employee() }
        #expect(code(employee, [Employee.self]) == nil)
        #expect(code(employee, []) == .classNotAllowed)
        let below = TypedStreamSample.data { $0.employee([("Employee", 0), ("Evil", 0), ("NSObject", 0)]) }
        #expect(code(below, [Employee.self]) == .classNotAllowed)
        #expect(code(below, nil) == .classNotAllowed, "no class has that name without a module")
        let listed = TypedStreamSample.data { $0.employee([("Employee", 0), ("NSURL", 0), ("NSObject", 0)]) }
        #expect(code(listed, [Employee.self]) == .classNotAllowed)
        #expect(code(listed, [Employee.self, NSURL.self]) == nil)
        let full = TypedStreamSample.data {
            $0.employee([("FoundationCodingTests.Employee", 0), ("NSObject", 0)])
        }
        #expect(code(full, nil) == nil)
        #expect(code(full, [Employee.self]) == nil)
        for name in ["NSUUID", "NSIndexSet", "NSError", "NSFont", "NSThread", "My.Swifté"] {
            let data = TypedStreamSample.data {
                $0.group("@")
                $0.object([(name, 0), ("NSObject", 0)]) { _ in }
            }
            let error = try #require(throws: ArchiveError.self) {
                try NSCodingTypedStreamUnarchiver.unarchivedObject(ofClasses: nil, from: data)
            }
            #expect(error.description.contains(name.filter(\.isASCII)), "\(error)")
        }
    }

    @Test(
        "Sets, values and the like have to be named, property lists need not; a narrower list inside a wider one applies"
    )
    func listsInTypedStreamAllowList() throws {
        let samples = Dictionary(uniqueKeysWithValues: TypedStreamSample.known.map { ($0.name, $0.data) })
        #expect(code(try #require(samples["numbers"]), []) == nil)
        #expect(code(try #require(samples["collections"]), []) == .classNotAllowed)
        #expect(code(try #require(samples["collections"]), [NSSet.self]) == nil)
        #expect(code(try #require(samples["values"]), [NSArray.self]) == .classNotAllowed)
        // The object was made under the list of the array, which allows it.
        let data = TypedStreamSample.data {
            $0.array(2) {
                $0.employee()
                $0.group("@")
                $0.object([("BackLink", 0), ("NSObject", 0)]) {
                    $0.group("@", Bytes.null)
                    $0.group("@")
                    $0.reference(3)
                }
            }
        }
        #expect(code(data, [Employee.self, BackLink.self]) == .classNotAllowed)
    }

    @Test("A reference to an object that is being made is delivered later, or is an error")
    func cyclesInTypedStreamAllowList() throws {
        let data = TypedStreamSample.data {
            $0.group("@")
            $0.object([("BackLink", 0), ("NSObject", 0)]) {
                $0.group("@", Bytes.null)
                $0.group("@")
                $0.object([("BackLink", 0), ("NSObject", 0)]) {
                    $0.group("@")
                    $0.reference(0)
                    $0.group("@", Bytes.null)
                }
            }
        }
        let link = try #require(try NSCodingTypedStreamUnarchiver.unarchivedObject(ofClass: BackLink.self, from: data))
        #expect(link.next?.back === link && link.back == nil)
        let plain = TypedStreamSample.data {
            $0.group("@")
            $0.object([("Employee", 0), ("NSObject", 0)]) {
                $0.group("@")
                $0.reference(0)
                $0.group("@", Bytes.null)
                $0.group("i", [1])
            }
        }
        #expect(code(plain, [Employee.self]) == .cycle)
        let array = TypedStreamSample.data {
            $0.array(1) {
                $0.group("@")
                $0.reference(0)
            }
        }
        #expect(code(array, []) == .cycle)
        let unarchiver = try NSCodingTypedStreamUnarchiver(forReadingFrom: array)
        let object = try #require(unarchiver.decodeObject() as? NSArray)
        #expect(object.count == 1 && unarchiver.error == nil)
    }

    @Test("Chains of a million objects and 20,000 classes end in an error, on a thread with a small stack, too")
    func deepInTypedStreamAllowList() async throws {
        let chain = TypedStreamSample.chain(1_000_000)
        let long = TypedStreamSample.chain(3_000)
        let short = TypedStreamSample.chain(900)
        let classes = TypedStreamSample.data {
            $0.group("@")
            $0.object((0..<20_000).map { ("C\($0)", 0) }) { _ in }
        }
        let loop = Data(Bytes.file(Bytes.new("@"), [0x84, 0x84], Bytes.new("A"), [0], Bytes.reference(1), Bytes.end))
        let found = await withCheckedContinuation { continuation in
            let thread = Thread {
                continuation.resume(
                    returning: [
                        code(chain, []), code(long, []), code(short, []), code(classes, nil), code(loop, nil),
                    ])
            }
            thread.stackSize = (512 << 10) * (Sanitizer.isAddress ? 8 : 1)
            thread.start()
        }
        #expect(found == [.limit, .limit, nil, .limit, .limit])
    }

    @Test("What a class lists is asked for each archive")
    func changingList() throws {
        let data = TypedStreamSample.data {
            $0.group("@")
            $0.object([("Changing", 0), ("NSObject", 0)]) { $0.employee() }
        }
        func code() throws -> ArchiveError.Code? {
            let unarchiver = try NSCodingTypedStreamUnarchiver(forReadingFrom: data, allowing: [Changing.self])
            unarchiver.setClass(Changing.self, forClassName: "Changing")
            _ = unarchiver.decodeObject()
            return (unarchiver.error as? ArchiveError)?.code
        }
        #expect(try code() == .classNotAllowed)
        Changing.archivedClasses = [Employee.self]
        #expect(try code() == nil)
        Changing.archivedClasses = []
        #expect(try code() == .classNotAllowed)
    }

    @Test("Arrays of nothing cost nothing, and runs of attributes are read in linear time")
    func cheap() throws {
        let types = String(repeating: "[99999999!]", count: 1000)
        let nothing = TypedStreamSample.data { $0.group(types) }
        let unarchiver = try NSCodingTypedStreamUnarchiver(forReadingFrom: nothing)
        let values = try #require(unarchiver.decodeValues(types))
        let archiver = NSCodingTypedStreamArchiver(rewriting: unarchiver)
        archiver.encodeValues(types, values)
        #expect(try archiver.data() == nothing)
        func runs(_ count: Int) throws -> Duration {
            let data = TypedStreamSample.data {
                $0.group("@")
                $0.object([("NSAttributedString", 0), ("NSObject", 0)]) {
                    $0.string(String(repeating: "a", count: count))
                    for number in 0..<count {
                        $0.group("iI", [UInt8(number < 2 ? number + 1 : number % 2 + 1), 1])
                        guard number < 2 else { continue }
                        $0.dictionary(1) {
                            $0.string("key")
                            $0.number("i", [UInt8(number)])
                        }
                    }
                }
            }
            let start = computingTime()
            let string = try NSCodingTypedStreamUnarchiver.unarchivedObject(
                ofClass: NSAttributedString.self, from: data)
            #expect(string?.length == count)
            return computingTime() - start
        }
        let (few, many) = (try runs(10_000), try runs(100_000))
        print("10,000 runs take \(few), 100,000 take \(many)")
        #expect(many / few < 60)
    }

    @Test("Broken typedstreams are refused, and no call of a class traps or hangs for any other")
    func hostileInTypedStreamAllowList() throws {
        for file in try Fixtures.brokenTypedstreams() {
            #expect(throws: ArchiveError.self, "\(file.name)") {
                _ = try NSCodingTypedStreamUnarchiver(forReadingFrom: file.data)
            }
        }
        let seed = TestSeed.next()
        print("typedstreams are changed with DISTANT_SEED=\(seed)")
        var random = SeededGenerator(seed: seed)
        let files = try Fixtures.typedstreams().map(\.data) + TypedStreamSample.known.map(\.data)
        for file in files {
            for round in 0..<(file.count < 1 << 14 ? 12 : 2) {
                var bytes = Array(file)
                if round > 0 {
                    for _ in 0..<Int.random(in: 1...3, using: &random) {
                        bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: 0...255, using: &random)
                    }
                }
                let start = computingTime()
                try use(Data(bytes), replacing: round.isMultiple(of: 2))
                #expect((computingTime() - start) / Effort.unit < Effort.bound)
            }
        }
    }

    private func use(_ data: Data, replacing: Bool) throws {
        let classes = TypedStreamSample.allowed + [Employee.self, Greedy.self, NSMutableArray.self]
        for list in [classes, nil] as [[AnyClass]?] {
            guard let unarchiver = try? NSCodingTypedStreamUnarchiver(forReadingFrom: data, allowing: list) else {
                return
            }
            if replacing {
                for case .type(let type) in unarchiver.graph.labels
                where type.name.count < 40 && !type.name.isFoundations {
                    unarchiver.setClass(Greedy.self, forClassName: type.name.description)
                }
            }
            while !unarchiver.isAtEnd, unarchiver.error == nil { _ = unarchiver.decodeObject() }
            unarchiver.finishDecoding()
            _ = unarchiver.error
        }
    }
}

extension ArchivedText {
    fileprivate var isFoundations: Bool {
        ["NSString", "NSArray", "NSDictionary", "NSNumber", "NSObject", "NSValue"].contains(description)
    }
}
