import Foundation
import KeyedArchive

/// An object that a person owns.
final class Item: ObjectCoding {
    var itemName: String
    var serialNumber: String
    var valueInDollars: Int
    let dateCreated: Date
    /// The key of the item's image in the image store.
    let itemKey: String

    init(itemName: String, serialNumber: String, valueInDollars: Int) {
        self.itemName = itemName
        self.serialNumber = serialNumber
        self.valueInDollars = valueInDollars
        dateCreated = Date()
        itemKey = UUID().uuidString
    }

    init(coder: ObjectDecoder) throws {
        itemName = try coder.decode(String.self, forKey: "itemName")
        serialNumber = try coder.decode(String.self, forKey: "serialNumber")
        itemKey = try coder.decode(String.self, forKey: "itemKey")
        // The key becomes the name of a file, and this archive may come from anywhere.
        guard UUID(uuidString: itemKey) != nil else { throw ArchiveError(.corrupt, "an item key that is no UUID") }
        dateCreated = try coder.decode(Date.self, forKey: "dateCreated")
        valueInDollars = try coder.decode(Int.self, forKey: "valueInDollars")
    }

    func encode(with coder: ObjectEncoder) throws {
        try coder.encode(itemName, forKey: "itemName")
        try coder.encode(serialNumber, forKey: "serialNumber")
        try coder.encode(itemKey, forKey: "itemKey")
        try coder.encode(dateCreated, forKey: "dateCreated")
        try coder.encode(valueInDollars, forKey: "valueInDollars")
    }
}

extension Item: CustomStringConvertible {
    var description: String {
        "\(itemName) (\(serialNumber)), $\(valueInDollars), since \(dateCreated.formatted(.iso8601))"
    }
}
