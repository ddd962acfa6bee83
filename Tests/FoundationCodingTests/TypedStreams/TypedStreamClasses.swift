import Foundation
import FoundationCoding
import KeyedArchive

/// Encodes one object conditionally, and another one always, behind it.
final class Condition: NSObject, NSCoding {
    let conditional: Employee?
    let plain: NSObject?

    init(conditional: Employee?, plain: NSObject?) {
        self.conditional = conditional
        self.plain = plain
    }

    init?(coder: NSCoder) {
        conditional = coder.decodeObject() as? Employee
        plain = coder.decodeObject() as? NSObject
    }

    func encode(with coder: NSCoder) {
        coder.encodeConditionalObject(conditional)
        coder.encode(plain)
    }
}

/// Encodes a root inside of a root.
final class Rooted: NSObject, NSCoding {
    override init() {}

    init?(coder: NSCoder) {}

    func encode(with coder: NSCoder) { coder.encodeRootObject("inside") }
}

class Older: NSObject, NSCoding, NSCodingVersioned {
    class var classVersion: Int { 2 }
    private(set) var found: [Int] = []

    override init() {}

    required init?(coder: NSCoder) {
        found = ["FoundationCodingTests.Newer", "FoundationCodingTests.Older", "NSObject"].map {
            coder.version(forClassName: $0)
        }
    }

    func encode(with coder: NSCoder) {}
}

final class Newer: Older {
    override class var classVersion: Int { 4 }
}

/// A subclass of a class of Foundation, whose own code needs keys.
final class SubArray: NSArray {
    override var count: Int { 0 }
    override func object(at index: Int) -> Any { "" }
    override var classForCoder: AnyClass { SubArray.self }
}

/// One of many in a row.
final class Chain: NSObject, NSCoding {
    private(set) var next: Chain?

    init(next: Chain?) { self.next = next }

    init?(coder: NSCoder) { next = coder.decodeObject() as? Chain }

    func encode(with coder: NSCoder) { coder.encode(next) }

    var count: Int {
        var count = 0
        var last: Chain? = self
        while let link = last {
            count += 1
            last = link.next
        }
        return count
    }

    /// Lets go of the others one by one: a row that is freed from its end takes stack for each.
    func unlink() {
        var rest = next
        next = nil
        while let link = rest {
            rest = link.next
            link.next = nil
        }
    }
}

/// The elements of collections as the objects that they are.
enum RawObjects {
    static func elements(_ array: NSArray) -> [AnyObject] {
        Mirror(reflecting: array).children.map { $0.value as AnyObject }
    }
}

/// Parts of a typedstream's generic graph.
enum TypedStreamTexts {
    /// The texts of all strings, in the order of the file.
    static func strings(_ graph: TypedStreamGraph) -> [String] {
        graph.labels.flatMap { label -> [String] in
            guard case .object(let object) = label else { return [] }
            return object.groups.flatMap { group in
                group.values.compactMap { if case .text(let text) = $0 { text.description } else { nil } }
            }
        }
    }
}

/// Keeps all values of its object, of whatever types they are, and encodes them again.
final class Anything: NSObject, NSCoding {
    private var groups: [(types: String, values: [CodedValue])] = []

    init?(coder: NSCoder) {
        guard let coder = coder as? NSCodingTypedStreamUnarchiver else { return nil }
        while let types = coder.nextTypes {
            guard let values = coder.decodeValues(types) else { return nil }
            groups.append((types, values))
        }
    }

    func encode(with coder: NSCoder) {
        guard let coder = coder as? NSCodingTypedStreamArchiver else { return }
        for group in groups { coder.encodeValues(group.types, group.values) }
    }
}
