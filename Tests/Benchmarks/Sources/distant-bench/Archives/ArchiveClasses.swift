import DistantObjects
import Foundation

/// The `Foo` of the other benchmarks, written for Foundation's coders.
final class FoundationFoo: NSObject, NSSecureCoding {
    let name: String
    let age: Int

    static var supportsSecureCoding: Bool { true }

    init(name: String, age: Int) {
        self.name = name
        self.age = age
    }

    init?(coder: NSCoder) {
        guard let name = coder.decodeObject(of: NSString.self, forKey: "name") else { return nil }
        self.name = name as String
        age = coder.decodeInteger(forKey: "age")
    }

    func encode(with coder: NSCoder) {
        coder.encode(name as NSString, forKey: "name")
        coder.encode(age, forKey: "age")
    }
}

/// The `Bar` of the other benchmarks, written for Foundation's coders.
final class FoundationBar: NSObject, NSSecureCoding {
    let foos: [FoundationFoo]

    static var supportsSecureCoding: Bool { true }

    init(count: Int) {
        foos = Bar(count: count).foos.map { FoundationFoo(name: $0.name, age: $0.age) }
    }

    init?(coder: NSCoder) {
        let list = coder.decodeObject(of: [NSArray.self, FoundationFoo.self], forKey: "foos")
        guard let foos = list as? [FoundationFoo] else { return nil }
        self.foos = foos
    }

    func encode(with coder: NSCoder) {
        coder.encode(foos as NSArray, forKey: "foos")
    }
}

/// The same content as values, for coders without objects.
struct CodableBar: Codable {
    struct Foo: Codable {
        var name: String
        var age: Int
    }

    var foos: [Foo]

    init(count: Int) {
        foos = Bar(count: count).foos.map { Foo(name: $0.name, age: $0.age) }
    }
}

/// A node of a list.
final class ListNode: ObjectCoding {
    let number: Int
    var next: ListNode?

    init(_ number: Int, _ next: ListNode?) {
        self.number = number
        self.next = next
    }

    init(coder: ObjectDecoder) throws {
        number = try coder.decode(Int.self, forKey: "number")
        next = try coder.decodeIfPresent(ListNode.self, forKey: "next")
    }

    func encode(with coder: ObjectEncoder) throws {
        try coder.encode(number, forKey: "number")
        try coder.encode(next, forKey: "next")
    }

    /// The first node of a list of `count` nodes.
    static func list(_ count: Int) -> ListNode? {
        var first: ListNode?
        for number in 0..<count { first = ListNode(number, first) }
        return first
    }
}
