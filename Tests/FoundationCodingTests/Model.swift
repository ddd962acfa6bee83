import Foundation
import FoundationCoding

/// Has one value of each kind, under keys.
final class Everything: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }
    var flag = true
    var integer = Int.min
    var int32 = Int32.max
    var int64 = Int64.min
    var float = Float(0.1)
    var double = Double.nan
    var bytes = Data([1, 2, 3])
    var nothing: NSString?
    var date = Date(timeIntervalSinceReferenceDate: 3)
    var words = ["a", "b"]
    var point = NSPoint(x: 1, y: 2)

    override init() {}

    init?(coder: NSCoder) {
        flag = coder.decodeBool(forKey: "flag")
        integer = coder.decodeInteger(forKey: "integer")
        int32 = coder.decodeInt32(forKey: "int32")
        int64 = coder.decodeInt64(forKey: "int64")
        float = coder.decodeFloat(forKey: "float")
        double = coder.decodeDouble(forKey: "double")
        bytes = coder.withDecodedUnsafeBytes(forKey: "bytes") { $0.map { Data($0) } ?? Data() }
        nothing = coder.decodeObject(of: NSString.self, forKey: "nothing")
        date = coder.decodeObject(of: NSDate.self, forKey: "date") as Date? ?? Date()
        words = coder.decodeObject(of: [NSArray.self, NSString.self], forKey: "words") as? [String] ?? []
        point = coder.decodePoint(forKey: "point")
    }

    func encode(with coder: NSCoder) {
        coder.encode(flag, forKey: "flag")
        coder.encode(integer, forKey: "integer")
        coder.encode(int32, forKey: "int32")
        coder.encode(int64, forKey: "int64")
        coder.encode(float, forKey: "float")
        coder.encode(double, forKey: "double")
        bytes.withUnsafeBytes { bytes in
            coder.encodeBytes(
                bytes.bindMemory(to: UInt8.self).baseAddress, length: bytes.count, forKey: "bytes")
        }
        coder.encode(nothing, forKey: "nothing")
        coder.encode(date, forKey: "date")
        coder.encode(words, forKey: "words")
        coder.encode(point, forKey: "point")
    }
}

/// A node of a graph, which may have cycles.
class Node: NSObject, NSSecureCoding, NSCodingClassListing {
    class var supportsSecureCoding: Bool { true }
    class var archivedClasses: [AnyClass] { [SpecialNode.self] }
    var name: String
    var next: Node?
    var children = NSMutableArray()
    var values: NSArray = []
    weak var parent: Node?

    init(_ name: String) { self.name = name }

    required init?(coder: NSCoder) {
        name = coder.decodeObject(of: NSString.self, forKey: "name") as String? ?? ""
        super.init()
        coder.decodeReference(ofClass: Node.self, forKey: "next") { self.next = $0 }
        let children = coder.decodeObject(of: [NSMutableArray.self, Node.self], forKey: "children")
        self.children = children as? NSMutableArray ?? NSMutableArray()
        coder.decodeReference(ofClass: Node.self, forKey: "parent") { self.parent = $0 }
        values = coder.decodeObject(of: AllowedValues.classes, forKey: "values") as? NSArray ?? []
    }

    func encode(with coder: NSCoder) {
        coder.encode(name, forKey: "name")
        coder.encode(next, forKey: "next")
        coder.encode(children, forKey: "children")
        coder.encodeConditionalObject(parent, forKey: "parent")
        coder.encode(values, forKey: "values")
    }
}

enum AllowedValues {
    static let classes: [AnyClass] = [
        NSArray.self, NSDictionary.self, NSSet.self, NSString.self, NSNumber.self, NSData.self, NSDate.self, NSURL.self,
        NSUUID.self, NSNull.self, NSIndexSet.self,
    ]
}

final class SpecialNode: Node {
    var extra = 0

    override init(_ name: String) { super.init(name) }

    required init?(coder: NSCoder) {
        extra = coder.decodeInteger(forKey: "extra")
        super.init(coder: coder)
    }

    override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.encode(extra, forKey: "extra")
    }
}

/// A subclass that no class lists.
final class HiddenNode: Node {}

/// A plain chain whose decoding ignores cycles.
final class Link: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }
    var next: Link?

    init(next: Link?) { self.next = next }

    init?(coder: NSCoder) {
        next = coder.decodeObject(of: Link.self, forKey: "next")
    }

    func encode(with coder: NSCoder) { coder.encode(next, forKey: "next") }

    static func chain(_ count: Int) -> Link? {
        var first: Link?
        for _ in 0..<count { first = Link(next: first) }
        return first
    }

    /// Frees a chain link by link: otherwise its `deinit` recurses deeply.
    func unlink() {
        var next = self.next
        self.next = nil
        while let link = next {
            next = link.next
            link.next = nil
        }
    }
}

/// Archives another object in its place, and is replaced with one after decoding.
final class Stand: NSObject, NSSecureCoding, NSCodingAwakening, NSCodingVersioned {
    static var supportsSecureCoding: Bool { true }
    static var classVersion: Int { 3 }
    var seenVersion = -1
    let text: String

    init(_ text: String) { self.text = text }

    init?(coder: NSCoder) {
        text = coder.decodeObject(of: NSString.self, forKey: "text") as String? ?? ""
        seenVersion = coder.version(forClassName: NSStringFromClass(Stand.self))
    }

    func encode(with coder: NSCoder) { coder.encode(text, forKey: "text") }

    override func replacementObject(for coder: NSCoder) -> Any? {
        text == "replace" ? Stand("replaced") : self
    }

    func awakeAfter(using coder: NSCoder) -> Any? { text == "awake" ? "awoken" as NSString : self }
}
