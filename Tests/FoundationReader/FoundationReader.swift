import Foundation

/// Opens an archive with Foundation's own unarchiver, and prints what it finds: one line for each key.
///
///     foundation-reader [--own] FILE KIND:KEY ...
///
/// KIND is how the value is asked for: object, integer, double, float, bool, unkeyed. Foundation's unarchiver may crash; that is why
/// this is a program of its own. With --own, Foo and Bar are classes that take their number for an object, and their array for
/// a mutable one.
@main
struct FoundationReader {
    static func main() throws {
        var arguments = CommandLine.arguments.dropFirst()
        let isOwn = arguments.first == "--own"
        if isOwn { arguments.removeFirst() }
        let data = try Data(contentsOf: URL(filePath: arguments.removeFirst()))
        NSKeyedUnarchiver.setClass(isOwn ? OwnFoo.self : Foo.self, forClassName: "Foo")
        NSKeyedUnarchiver.setClass(isOwn ? OwnBar.self : Bar.self, forClassName: "Bar")
        NSKeyedUnarchiver.setClass(Employee.self, forClassName: "Employee")
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
        unarchiver.requiresSecureCoding = false
        for argument in arguments {
            let parts = argument.split(separator: ":", maxSplits: 1).map(String.init)
            print("\(parts[1]) = \(read(unarchiver, parts[0], parts[1]))")
        }
    }

    private static func read(_ unarchiver: NSKeyedUnarchiver, _ kind: String, _ key: String) -> String {
        switch kind {
        case "unkeyed": describe(unarchiver.decodeObject())
        case "integer": "\(unarchiver.decodeInteger(forKey: key))"
        case "double": "\(unarchiver.decodeDouble(forKey: key))"
        case "float": "\(unarchiver.decodeFloat(forKey: key))"
        case "bool": "\(unarchiver.decodeBool(forKey: key))"
        default: describe(unarchiver.decodeObject(forKey: key))
        }
    }

    private static func describe(_ value: Any?) -> String {
        switch value {
        case nil: "nil"
        case let foo as Foo: "Foo(\(foo.name), \(foo.age))"
        case let bar as Bar: "Bar\(describe(bar.foos))" + (bar.isShared ? " shared" : "")
        case let foo as OwnFoo: "OwnFoo(\(foo.name ?? "?"), \(foo.age?.stringValue ?? "?"))"
        case let bar as OwnBar: "OwnBar\(describe(bar.foos))"
        case let employee as Employee: "Employee(\(employee.first), \(employee.last), \(employee.number))"
        case let text as String: "\"\(text)\""
        case let text as NSString: "\"\(text)\""
        case let data as Data: "<\(data.map { String($0, radix: 16) }.joined(separator: " "))>"
        case let date as Date: "date \(date.timeIntervalSinceReferenceDate)"
        case let uuid as UUID: "uuid \(uuid.uuidString)"
        case let url as URL: "url \(url.relativeString)" + (url.baseURL.map { " of \($0.absoluteString)" } ?? "")
        case is NSNull: "null"
        case let number as NSDecimalNumber: "decimal \(number)"
        case let number as NSNumber: "\(number)"
        case let list as NSArray: "[\(list.map { describe($0) }.joined(separator: ", "))]"
        case let set as NSSet: "set[\(set.map { describe($0) }.sorted().joined(separator: ", "))]"
        case let map as NSDictionary:
            "[\(map.map { "\(describe($0.key)): \(describe($0.value))" }.sorted().joined(separator: ", "))]"
        case let array as [Any]: describe(array as NSArray)
        case let map as [AnyHashable: Any]: describe(map as NSDictionary)
        case let other?: "\(type(of: other))"
        }
    }
}

final class Foo: NSObject, NSCoding {
    let name: String
    let age: Int

    required init?(coder: NSCoder) {
        name = coder.decodeObject(forKey: "name") as? String ?? "?"
        age = coder.decodeInteger(forKey: "age")
    }

    func encode(with coder: NSCoder) {}
}

final class Bar: NSObject, NSCoding {
    let foos: NSArray

    required init?(coder: NSCoder) {
        foos =
            coder.decodeObject(forKey: "foos") as? NSArray ?? (coder.decodeObject(forKey: "foos") as? [Any] ?? [])
            as NSArray
    }

    func encode(with coder: NSCoder) {}

    var isShared: Bool {
        foos.count > 1 && (foos.firstObject as? Foo) === (foos.lastObject as? Foo)
    }
}

final class OwnFoo: NSObject, NSCoding {
    let name: NSString?
    let age: NSNumber?

    required init?(coder: NSCoder) {
        name = coder.decodeObject(forKey: "name") as? NSString
        age = coder.decodeObject(forKey: "age") as? NSNumber
    }

    func encode(with coder: NSCoder) {}
}

final class OwnBar: NSObject, NSCoding {
    let foos: NSMutableArray?

    required init?(coder: NSCoder) {
        foos = coder.decodeObject(forKey: "foos") as? NSMutableArray
        foos?.add("one more")
    }

    func encode(with coder: NSCoder) {}
}

final class Employee: NSObject, NSCoding {
    let first: String
    let last: String
    let number: Int

    required init?(coder: NSCoder) {
        if coder.containsValue(forKey: "First") {
            number = coder.decodeInteger(forKey: "Number")
            first = coder.decodeObject(forKey: "First") as? String ?? "?"
            last = coder.decodeObject(forKey: "Last") as? String ?? "?"
        } else {
            first = coder.decodeObject() as? String ?? "?"
            last = coder.decodeObject() as? String ?? "?"
            var value: Int32 = 0
            coder.decodeValue(ofObjCType: "i", at: &value)
            number = Int(value)
        }
    }

    func encode(with coder: NSCoder) {}
}
