import DistantObjects

/// An object of the graphs sent by copy.
final class Foo: ObjectCoding {
    let name: String
    let age: Int

    init(name: String, age: Int) {
        self.name = name
        self.age = age
    }

    init(coder: borrowing ObjectDecoder) throws {
        name = try coder.decode(String.self, forKey: "name")
        age = try coder.decode(Int.self, forKey: "age")
    }

    func encode(with coder: ObjectEncoder) throws {
        try coder.encode(name, forKey: "name")
        try coder.encode(age, forKey: "age")
    }
}

/// The root of the graphs sent by copy.
final class Bar: ObjectCoding {
    let foos: [Foo]

    /// A graph of `count` Foos with names of eight characters.
    init(count: Int) {
        foos = (0..<count).map { Foo(name: "name\(1000 + $0 % 9000)", age: $0 % 100) }
    }

    init(coder: borrowing ObjectDecoder) throws {
        foos = try coder.decode([Foo].self, forKey: "foos")
    }

    func encode(with coder: ObjectEncoder) throws {
        try coder.encode(foos, forKey: "foos")
    }

    var sumOfAges: Int64 { foos.reduce(0) { $0 + Int64($1.age) } }
}
