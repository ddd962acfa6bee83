import Foundation

// The classes are written as for Foundation's own archivers: they do not depend on this library.

final class Foo: NSObject, NSCoding {
    var name: String
    var age: Int

    init(name: String, age: Int) {
        self.name = name
        self.age = age
    }

    init?(coder: NSCoder) {
        name = coder.decodeObject(forKey: "name") as? String ?? ""
        age = coder.decodeInteger(forKey: "age")
    }

    func encode(with coder: NSCoder) {
        coder.encode(name, forKey: "name")
        coder.encode(age, forKey: "age")
    }
}

final class Bar: NSObject, NSCoding {
    let foos: NSMutableArray

    override init() { foos = [Foo(name: "Juliana", age: 7), Foo(name: "Nicolas", age: 3)] }

    init?(coder: NSCoder) {
        guard let foos = coder.decodeObject(forKey: "foos") as? NSMutableArray else { return nil }
        self.foos = foos
    }

    func encode(with coder: NSCoder) { coder.encode(foos, forKey: "foos") }
}

final class Employee: NSObject, NSCoding {
    let first: String
    let last: String
    let number: Int32

    init(first: String, last: String, number: Int32) {
        self.first = first
        self.last = last
        self.number = number
    }

    init?(coder: NSCoder) {
        if coder.allowsKeyedCoding {
            // Not in the order written.
            number = coder.decodeInt32(forKey: "Number")
            last = coder.decodeObject(forKey: "Last") as? String ?? ""
            first = coder.decodeObject(forKey: "First") as? String ?? ""
        } else {
            first = coder.decodeObject() as? String ?? ""
            last = coder.decodeObject() as? String ?? ""
            var number: Int32 = 0
            coder.decodeValue(ofObjCType: "i", at: &number)
            self.number = number
        }
    }

    func encode(with coder: NSCoder) {
        if coder.allowsKeyedCoding {
            coder.encode(first, forKey: "First")
            coder.encode(last, forKey: "Last")
            coder.encode(number, forKey: "Number")
        } else {
            coder.encode(first)
            coder.encode(last)
            var number = number
            coder.encodeValue(ofObjCType: "i", at: &number)
        }
    }
}

/// Reads in another order than it writes.
final class Confused: NSObject, NSCoding {
    override init() {}

    init?(coder: NSCoder) {
        var number: Int32 = 0
        coder.decodeValue(ofObjCType: "i", at: &number)
        _ = coder.decodeObject()
    }

    func encode(with coder: NSCoder) {
        coder.encode("text")
        var number: Int32 = 1
        coder.encodeValue(ofObjCType: "i", at: &number)
    }
}

final class Item: NSObject, NSCoding {
    let itemName: String
    let serialNumber: String?
    let itemKey: String
    let dateCreated: Date
    let valueInDollars: Int32

    init(itemName: String, serialNumber: String?, valueInDollars: Int32) {
        self.itemName = itemName
        self.serialNumber = serialNumber
        self.valueInDollars = valueInDollars
        itemKey = UUID().uuidString
        dateCreated = Date()
    }

    init?(coder: NSCoder) {
        guard let name = coder.decodeObject(forKey: "itemName") as? String,
            let key = coder.decodeObject(forKey: "itemKey") as? String,
            let date = coder.decodeObject(forKey: "dateCreated") as? Date
        else { return nil }
        itemName = name
        itemKey = key
        dateCreated = date
        serialNumber = coder.decodeObject(forKey: "serialNumber") as? String
        valueInDollars = coder.decodeInt32(forKey: "valueInDollars")
    }

    func encode(with coder: NSCoder) {
        coder.encode(itemName, forKey: "itemName")
        coder.encode(serialNumber, forKey: "serialNumber")
        coder.encode(itemKey, forKey: "itemKey")
        coder.encode(dateCreated, forKey: "dateCreated")
        coder.encode(valueInDollars, forKey: "valueInDollars")
    }
}

final class Settings: NSObject, NSCoding {
    var area = "008"
    var lhour = 2
    var primeTimeFrom = "19:00"
    var primeTimeTo = "23:00"
    var keywordHistory: NSMutableArray = NSMutableArray(capacity: 10)
    var orderOfViewControllers: NSArray?

    override init() {}

    init?(coder: NSCoder) {
        area = coder.decodeObject(forKey: "area") as? String ?? ""
        lhour = coder.decodeInteger(forKey: "lhour")
        primeTimeFrom = coder.decodeObject(forKey: "primeTimeFrom") as? String ?? ""
        primeTimeTo = coder.decodeObject(forKey: "primeTimeTo") as? String ?? ""
        if let history = coder.decodeObject(forKey: "keywordHistory") as? NSMutableArray { keywordHistory = history }
        orderOfViewControllers = coder.decodeObject(forKey: "orderOfViewControllers") as? NSArray
    }

    func encode(with coder: NSCoder) {
        coder.encode(area, forKey: "area")
        coder.encode(lhour, forKey: "lhour")
        coder.encode(primeTimeFrom, forKey: "primeTimeFrom")
        coder.encode(primeTimeTo, forKey: "primeTimeTo")
        coder.encode(keywordHistory, forKey: "keywordHistory")
        coder.encode(orderOfViewControllers, forKey: "orderOfViewControllers")
    }
}

final class Person: NSObject, NSCoding {
    let firstName: String
    let lastName: String

    init(firstName: String, lastName: String) {
        self.firstName = firstName
        self.lastName = lastName
    }

    init?(coder: NSCoder) {
        firstName = coder.decodeObject(forKey: "FirstNameKey") as? String ?? ""
        lastName = coder.decodeObject(forKey: "LastNameKey") as? String ?? ""
    }

    func encode(with coder: NSCoder) {
        coder.encode(firstName, forKey: "FirstNameKey")
        coder.encode(lastName, forKey: "LastNameKey")
    }

    override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? Person else { return false }
        return other.firstName == firstName && other.lastName == lastName
    }

    override var hash: Int { firstName.hashValue ^ lastName.hashValue }
}
