import ArchiveFixtures
import Foundation

/// Typedstreams put together byte by byte, with objects of classes that are known.
struct TypedStreamSample {
    private typealias Bytes = TypedStreamBytes
    private(set) var bytes: [UInt8]
    private var strings: [String: Int] = [:]
    private var classes: [String: Int] = [:]
    private var cStrings: [String: Int] = [:]
    /// The number of labels so far.
    private(set) var labels = 0

    init() { bytes = Bytes.file() }

    var data: Data { Data(bytes) }

    mutating func shared(_ text: String) {
        if let number = strings[text] {
            bytes += Bytes.reference(number)
        } else {
            strings[text] = strings.count
            bytes += Bytes.new(text)
        }
    }

    /// Adds what the other functions do not make.
    mutating func append(_ more: [UInt8]) { bytes += more }

    /// Begins a group, or adds one with values.
    mutating func group(_ type: String, _ values: [UInt8] = []) {
        shared(type)
        bytes += values
    }

    /// An object, whose groups `content` adds, behind a group's type.
    ///
    /// - Parameter chain: The classes with their versions, the object's own first.
    @discardableResult
    mutating func object(_ chain: [(String, Int)], _ content: (inout TypedStreamSample) -> Void) -> Int {
        let label = labels
        labels += 1
        bytes.append(0x84)
        type(chain)
        content(&self)
        bytes += Bytes.end
        return label
    }

    mutating func type(_ chain: [(String, Int)]) {
        for (name, version) in chain {
            if let label = classes[name] {
                bytes += Bytes.reference(label)
                return
            }
            classes[name] = labels
            labels += 1
            bytes.append(0x84)
            shared(name)
            bytes += Bytes.number(version)
        }
        bytes += Bytes.null
    }

    mutating func cString(_ text: String) {
        if let label = cStrings[text] {
            bytes += Bytes.reference(label)
            return
        }
        cStrings[text] = labels
        labels += 1
        bytes.append(0x84)
        shared(text)
    }

    mutating func reference(_ label: Int) { bytes += Bytes.reference(label) }

    // MARK: Objects of Foundation's classes, each a group of its own

    @discardableResult
    mutating func string(_ text: String, isMutable: Bool = false) -> Int {
        group("@")
        return object((isMutable ? [("NSMutableString", 1)] : []) + [("NSString", 1), ("NSObject", 0)]) {
            $0.group("+", Bytes.text(text))
        }
    }

    mutating func number(_ type: String, _ value: [UInt8]) {
        group("@")
        object([("NSNumber", 0), ("NSValue", 0), ("NSObject", 0)]) {
            $0.group("*")
            $0.cString(type)
            $0.group(type, value)
        }
    }

    mutating func value(_ type: String, _ value: [UInt8]) {
        group("@")
        object([("NSValue", 0), ("NSObject", 0)]) {
            $0.group("*")
            $0.cString(type)
            $0.group(type, value)
        }
    }

    mutating func array(_ count: Int, isMutable: Bool = false, _ content: (inout TypedStreamSample) -> Void) {
        group("@")
        object((isMutable ? [("NSMutableArray", 0)] : []) + [("NSArray", 0), ("NSObject", 0)]) {
            $0.group("i", Bytes.number(count))
            content(&$0)
        }
    }

    mutating func dictionary(_ count: Int, isMutable: Bool = false, _ content: (inout TypedStreamSample) -> Void) {
        group("@")
        object((isMutable ? [("NSMutableDictionary", 0)] : []) + [("NSDictionary", 0), ("NSObject", 0)]) {
            $0.group("i", Bytes.number(count))
            content(&$0)
        }
    }

    mutating func employee(_ chain: [(String, Int)] = [("Employee", 0), ("NSObject", 0)]) {
        group("@")
        object(chain) {
            $0.string("Ann")
            $0.string("Lee")
            $0.group("i", [7])
        }
    }

    /// The classes of Foundation beside those of property lists.
    static let allowed: [AnyClass] = [
        NSSet.self, NSURL.self, NSValue.self, NSTimeZone.self, NSDecimalNumber.self, NSAttributedString.self,
    ]

    /// Arrays inside one another.
    static func chain(_ count: Int) -> Data {
        // Behind the first one, the class has the label 1, and the types the numbers 0 and 3.
        let link =
            TypedStreamBytes.reference(0) + [0x84] + TypedStreamBytes.reference(1) + TypedStreamBytes.reference(3) + [1]
        var sample = TypedStreamSample()
        sample.group("@")
        sample.bytes.append(0x84)
        sample.labels += 1
        sample.type([("NSArray", 0), ("NSObject", 0)])
        sample.group("i", [1])
        sample.bytes += Array(repeatElement(link, count: count - 1).joined())
        sample.bytes += TypedStreamBytes.reference(0) + TypedStreamBytes.null
        sample.bytes += [UInt8](repeating: 0x86, count: count)
        return sample.data
    }

    /// A file with one thing in it.
    static func data(_ content: (inout TypedStreamSample) -> Void) -> Data {
        var sample = TypedStreamSample()
        content(&sample)
        return sample.data
    }

    /// Files with objects of Foundation's classes only, each of which can be written again.
    static let known: [(name: String, data: Data)] = [
        ("string", data { $0.string("é🎉") }),
        ("mutable-string", data { $0.string("", isMutable: true) }),
        (
            "numbers",
            data {
                $0.array(12) {
                    $0.number("c", [1])
                    $0.number("C", [0xFF])
                    $0.number("s", [0x81, 0, 1])
                    $0.number("S", [0xFF])
                    $0.number("i", [0x91 + 1])
                    $0.number("I", [0xFF])
                    $0.number("l", [0])
                    $0.number("L", [0])
                    $0.number("q", [0x87, 1, 2, 3, 4, 5, 6, 7, 8])
                    $0.number("Q", [0xFD])
                    $0.number("f", [0x83, 0, 0, 0, 0x3F])
                    $0.number("d", [3])
                }
            }
        ),
        (
            "collections",
            data {
                $0.array(4, isMutable: true) {
                    $0.dictionary(2) {
                        $0.string("z")
                        $0.number("i", [1])
                        $0.string("a")
                        $0.array(0) { _ in }
                    }
                    $0.dictionary(3, isMutable: true) {
                        for key in ["zz", "b", "c"] {
                            $0.string(key)
                            $0.string(key + "!")
                        }
                    }
                    $0.group("@")
                    $0.object([("NSMutableSet", 0), ("NSSet", 0), ("NSObject", 0)]) {
                        $0.group("I", [2])
                        let label = $0.string("y")
                        $0.string("x")
                        _ = label
                    }
                    $0.group("@")
                    $0.object([("NSData", 0), ("NSObject", 0)]) {
                        $0.group("i", [3])
                        $0.group("[3c]", [0x84, 0x85, 0x86])
                    }
                }
            }
        ),
        (
            "values",
            data {
                $0.array(8) {
                    $0.value("{?=ff}", [1, 2])
                    $0.value("{CGPoint=dd}", [1, 2])
                    $0.value("{_NSSize=ff}", [1, 2])
                    $0.value("{CGRect={CGPoint=dd}{CGSize=dd}}", [1, 2, 3, 4])
                    $0.value("{_NSRange=QQ}", [0x87] + [UInt8](repeating: 0xFF, count: 7) + [0x7F, 4])
                    $0.value("{?=i[2s]*}", [1, 2, 3, 0x85])
                    $0.value("i", [5])
                    $0.value("[3i]", [1, 2, 3])
                }
            }
        ),
        (
            "dates",
            data {
                $0.array(3) {
                    $0.group("@")
                    $0.object([("NSDate", 0), ("NSObject", 0)]) { $0.group("d", [0x82, 0xB0, 0x7F, 0xE3, 0xC7]) }
                    $0.group("@")
                    $0.object([("NSCalendarDate", 0), ("NSDate", 0), ("NSObject", 0)]) {
                        $0.group("d", [0])
                        $0.string("%Y")
                        $0.zone("GMT")
                    }
                    $0.zone("GMT")
                }
            }
        ),
        (
            "urls",
            data {
                $0.group("@")
                $0.object([("NSURL", 0), ("NSObject", 0)]) {
                    $0.group("c", [1])
                    $0.group("@")
                    $0.object([("NSURL", 0), ("NSObject", 0)]) {
                        $0.group("c", [0])
                        $0.string("https://example.org/a/")
                    }
                    $0.string("b?c=d")
                }
            }
        ),
        ("decimals", data { $0.decimals() }),
        ("body", data { $0.body(isMutable: true) }),
        ("body-immutable", data { $0.body(isMutable: false) }),
    ]

    mutating func zone(_ name: String) {
        group("@")
        object([("NSTimeZone", 1), ("NSObject", 0)]) {
            $0.string(name)
            $0.group("@")
            $0.object([("NSMutableData", 0), ("NSData", 0), ("NSObject", 0)]) {
                $0.group("i", [4])
                $0.group("[4c]", Array("TZif".utf8))
            }
        }
    }

    private mutating func decimals() {
        array(2) {
            for words: [UInt8] in [[0xFF, 2, 3, 4, 5, 6, 7, 8], [0, 0, 0, 0, 0, 0, 0, 0]] {
                $0.group("@")
                $0.object([("NSDecimalNumberPlaceholder", 0), ("NSObject", 0)]) {
                    $0.group("i", [0xFE])
                    $0.group("S", [words[0] == 0 ? 0 : 1])
                    $0.group("C", [1])
                    $0.group("C", [1])
                    $0.group("I", [8])
                    $0.group("[8S]", words)
                }
            }
        }
    }

    /// An attributed string as Messages writes it: runs with dictionaries, of which one occurs twice.
    mutating func body(isMutable: Bool) {
        group("@")
        object(
            (isMutable ? [("NSMutableAttributedString", 0)] : []) + [("NSAttributedString", 0), ("NSObject", 0)]
        ) {
            $0.string("Hi @Ann, é", isMutable: true)
            $0.group("iI", [1, 3])
            var part = 0
            $0.dictionary(1) {
                part = $0.string("__kIMMessagePartAttributeName")
                $0.number("i", [0])
            }
            $0.group("iI", [2, 4])
            $0.dictionary(2) {
                $0.group("@")
                $0.reference(part)
                $0.number("i", [0])
                $0.string("__kIMMentionConfirmedMention")
                $0.string("ann@example.org")
            }
            $0.group("iI", [1, 3])
        }
    }
}
