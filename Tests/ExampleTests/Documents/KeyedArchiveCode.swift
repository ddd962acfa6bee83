// swift-format-ignore-file
// It is laid out as KeyedArchive.md and AppleFormat.md show it.

import KeyedArchive

/// The code of KeyedArchive.md.
enum KeyedArchiveCode {
    // KeyedArchive.md: a class and its archive
    final class Foo: ObjectCoding {
        let name: String
        let age: Int
        init(name: String, age: Int) { self.name = name; self.age = age }
        init(coder: ObjectDecoder) throws {
            name = try coder.decode(String.self, forKey: "name")
            age = try coder.decode(Int.self, forKey: "age")
        }
        func encode(with coder: ObjectEncoder) throws {
            try coder.encode(name, forKey: "name")
            try coder.encode(age, forKey: "age")
        }
    }
    // end

    static func archive() throws -> [Foo] {
        // KeyedArchive.md: a class and its archive
        let bytes = try KeyedArchiver.archive([Foo(name: "Juliana", age: 7)])
        let foos = try KeyedUnarchiver.unarchive([Foo].self, from: bytes)
        let copy = try KeyedArchiver.deepCopy(of: foos)
        // end
        return copy
    }

    /// The code of AppleFormat.md.
    static func encode(_ age: Int, _ foos: [Foo], with coder: ObjectEncoder) throws {
        // AppleFormat.md: for classes written for Foundation
        try coder.encode(AsObject(age), forKey: "age")        // an NSNumber of its own
        try coder.encode(AsMutable(foos), forKey: "foos")     // an NSMutableArray
        // end
    }
}

// KeyedArchive.md: nonisolated
nonisolated final class Point: ObjectCoding {
    let x: Int
    init(x: Int) { self.x = x }
    init(coder: ObjectDecoder) throws { x = try coder.decode(Int.self, forKey: "x") }
    func encode(with coder: ObjectEncoder) throws { try coder.encode(x, forKey: "x") }
}
// end
